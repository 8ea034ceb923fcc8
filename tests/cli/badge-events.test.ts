import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { poapEnv } from '../support/badges.ts'
import { type CliHome, cliHome, type Ran } from '../support/cli.ts'
import { executable } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { png } from '../support/poap/image-bytes.ts'
import { PoapStandIn } from '../support/poap/stand-in.ts'
import { proxyUntil } from '../support/proxy-until.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed, env: { TAPCHIP_BADGE_APPROVAL: 'manual' } })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: acmeKey,
    TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  })
  writeFileSync(join(here.home, 'badge.png'), png())
})
afterEach(() => here.remove())

const today = new Date().toISOString().slice(0, 10)
const flags = ['--name', 'Opening', '--start-date', today, '--requested-codes', '3', '--image', 'badge.png']

const json = async (...args: string[]) => {
  const ran = await here.run(...args, '--json')
  expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, ''])
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer is what it asserts
  return ran.json() as any
}
const ends = (ran: Ran, code: number, ...texts: string[]) => {
  expect(ran.code).toBe(code)
  for (const text of texts) expect(ran.stderr).toContain(text)
}
const sheet = (name: string, lines: string[]) => writeFileSync(join(here.home, name), `${lines.join('\n')}\n`)
let counter = 0
const fetchText = async (path: string): Promise<string> => (await fetch(daemon.url + path)).text()

/** The code that a tap of the blank chip gives for an event. */
const tapCode = async (event: number): Promise<string> => {
  counter += 1
  const page = await fetchText(tapPath(tap(derived, { uid: uids.blank }, counter)))
  const ref = /data-ref="([^"]+)"/.exec(page)?.[1]
  const { badgeEvents } = JSON.parse(await fetchText(`/refs/${ref}`))
  return badgeEvents.find(({ id }: { id: number }) => id === event)?.otp ?? ''
}

describe('one event, from its creation to a badge', () => {
  test('create, approve, assign, mint, list and claims', async () => {
    const made = await json(
      'badge-events',
      'create',
      ...flags,
      '--city',
      'Lisbon',
      '--max-per-recipient',
      '2',
    )
    expect(made).toMatchObject({ id: expect.any(Number), poapResponse: { name: 'Opening', city: 'Lisbon' } })
    const id = String(made.id)
    const listed = async () => (await json('badge-events', 'list', '--limit', '1'))[0]
    expect(await listed()).toMatchObject({ id: made.id, status: 'pending-approval', remainingCodesCount: 0 })
    expect(await json('badge-events', 'approve', id)).toEqual({
      id: made.id,
      name: 'Opening',
      status: 'active',
    })
    expect(await listed()).toMatchObject({ status: 'active', remainingCodesCount: 3, requestedCodes: 3 })
    expect(await listed()).toMatchObject({ maxPerRecipient: 2 })
    expect(await json('badge-events', 'assign', id, '--uid', uids.blank, '--title', 'Hello')).toEqual({
      success: true,
    })

    const code = await tapCode(made.id)
    expect(await json('badge-events', 'mint', id, '--code', code, '--recipient', 'ana@example.org')).toEqual({
      success: true,
    })
    const again = await here.run('badge-events', 'mint', id, '--code', code, '--recipient', 'ana@example.org')
    ends(again, 4, 'already been used')
    expect(await json('badge-events', 'claims', id)).toMatchObject([
      { recipient: 'ana@example.org', state: 'claimed' },
    ])
    expect((await listed()).remainingCodesCount).toBe(2)
    const { imageUrl } = await json('badge-events', 'show', id)
    expect(imageUrl).toBe(`${daemon.url}/badge-events/${id}/image`)
    expect(await json('badge-events', 'show', id, '--as', 'metadata')).toMatchObject({ image: imageUrl })
    expect(await json('badge-events', 'show', id, '--as', 'event')).toMatchObject({ name: 'Opening' })
    const wallet = `0x${'1'.repeat(40)}`
    await json('badge-events', 'mint', id, '--code', await tapCode(made.id), '--recipient', wallet)
    const held = await json('badge-events', 'held', wallet)
    expect(held).toMatchObject([{ event: { name: 'Opening' } }])
    expect(await json('badge-events', 'held', wallet, '--event', String(held[0].event.id))).toEqual(held)
    const table = await here.run('badge-events', 'list')
    expect(table.stdout).toMatch(/Opening\s+active\s+1 of 3/)
    expect(await json('badge-events', 'reject', id)).toMatchObject({ status: 'rejected' })
  })

  test('by a token: every chip of it', async () => {
    const { id } = await json('badge-events', 'create', ...flags)
    const [contract] = await json('contracts', 'list')
    const token = ['--contract-address', contract.address, '--chain-id', '31337', '--token-id', '1']
    expect(await json('badge-events', 'assign', String(id), ...token)).toEqual({ success: true })
    ends(await here.run('badge-events', 'assign', String(id), ...token, '--uid', uids.blank), 2, 'not both')
  })
})

describe('refused before anything is sent', () => {
  test('what is missing is named by its flag', async () => {
    ends(await here.run('badge-events', 'create', '--name', 'x'), 2, '--start-date is missing')
    ends(await here.run('badge-events', 'assign', '--uid', uids.blank), 2, 'The id of the event is missing')
    ends(
      await here.run('badge-events', 'assign', '4'),
      2,
      '--uid (or --contract-address, --chain-id and --token-id, or --file) is missing',
    )
    ends(await here.run('badge-events', 'mint', '4', '--recipient', 'x'), 2, '--code is missing')
  })

  test('what does not fit is named by its flag, all of it', async () => {
    const bad = ['--end-date', '2020-01-01', '--image', 'nothing.png']
    ends(
      await here.run('badge-events', 'create', ...flags, ...bad),
      2,
      '--end-date',
      '--image',
      'does not exist',
    )
    ends(await here.run('badge-events', 'create', ...flags, '--start-date', '2026-02-31'), 2, '--start-date')
    ends(await here.run('badge-events', 'assign', 'four', '--uid', uids.blank), 2, 'is a number')
    ends(
      await here.run('badge-events', 'assign', '4', '--uid', uids.blank, '--starts-at', 'noon'),
      2,
      '--starts-at',
    )
  })

  test('without a key, or a token: 4', async () => {
    delete here.env.TAPCHIP_API_KEY
    delete here.env.TAPCHIP_ADMIN_TOKEN
    for (const args of [
      ['create', ...flags],
      ['list'],
      ['approve', '1'],
      ['assign', '1', '--uid', uids.blank],
    ])
      ends(await here.run('badge-events', ...args), 4, '')
  })

  test('a dry run sends nothing', async () => {
    const before = await json('badge-events', 'list')
    const ran = await here.run('badge-events', 'create', ...flags, '--dry-run')
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('POST /badge-events')])
    expect(await json('badge-events', 'list')).toEqual(before)
  })
})

const heading =
  'name,description,city,country,startDate,endDate,expiryDate,eventURL,virtualEvent,privateEvent,requestedCodes,image'
const row = (name: string, image = 'art/a.png', end = today) =>
  `${name},A party,Lisbon,Portugal,${today},${end},2099-01-01,https://acme.example/,false,true,10,${image}`

describe('many events from a file', () => {
  beforeEach(() => {
    mkdirSync(join(here.home, 'art'))
    writeFileSync(join(here.home, 'art/a.png'), png())
  })

  const create = (...args: string[]) => here.run('badge-events', 'create', '--file', 'events.csv', ...args)
  const names = async (begin: string) =>
    (await json('badge-events', 'list')).filter(({ name }: { name: string }) => name.startsWith(begin))

  test('each row is a line with its id; one that the daemon refuses fails alone', async () => {
    const poap = await PoapStandIn.open()
    const atPoap = await startTestDaemon({ seed, env: poapEnv(poap) })
    onTestFinished(async () => {
      await atPoap.stop()
      await poap.close()
    })
    here.env.TAPCHIP_URL = atPoap.url
    sheet('events.csv', [heading, row('One'), row('Two').replace(',10,', ',0,'), row('Three')])
    const dry = await create('--dry-run', '--json')
    expect([dry.code, dry.lines()]).toMatchObject([
      3,
      [
        { row: 1, name: 'One', status: 'created' },
        { row: 2, name: 'Two', status: 'failed' },
        { row: 3, status: 'created' },
      ],
    ])
    expect(await names('One')).toEqual([])
    const ran = await create('--failed', 'again.csv', '--json')
    expect(ran.code).toBe(3)
    expect(ran.lines()).toEqual([
      { row: 1, status: 'created', id: expect.any(Number) },
      { row: 2, status: 'failed', error: expect.stringContaining('requestedCodes') },
      { row: 3, status: 'created', id: expect.any(Number) },
    ])
    const again = readFileSync(join(here.home, 'again.csv'), 'utf8')
    expect(again).toContain(`${heading},error\nTwo`)
    expect(again).toContain(',art/a.png,')
    expect(again).not.toContain('Three')
    // In another folder, a path of the sheet's own would lead nowhere.
    expect((await create('--failed', 'art/again.csv', '--json')).code).toBe(3)
    expect(readFileSync(join(here.home, 'art/again.csv'), 'utf8')).toContain(`,${here.home}/art/a.png,`)
    const id = /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? ''
    expect((await here.run('batch', 'report', id, '--failed', '--json')).lines()).toMatchObject([
      { row: 2, status: 'failed', name: 'Two' },
    ])
    const listed = (await json('batch', 'list')).find((batch: { id: string }) => batch.id === id)
    expect(listed).toMatchObject({ kind: 'badge-events create', changed: 2, failed: 1 })
    ends(await here.run('batch', 'undo', id), 2, 'cannot be undone')
  })

  test('a file that does not fit is refused whole, every row named', async () => {
    const before = await json('badge-events', 'list')
    sheet('events.csv', [
      heading,
      row('One'),
      row('Two', 'art/none.png'),
      row('Three', 'art/a.png', '2020-01-01'),
      row('Four').replace('A party', 'x'.repeat(1501)),
      row('Five').replace('https://', 'ftp://'),
      row('Six').replace(',10,', ',1000001,'),
    ])
    ends(
      await create(),
      2,
      'row 2, image: ',
      'does not exist',
      'row 3, endDate: must not be before startDate',
      'row 4, description: must be at most 1500 characters',
      'row 5, eventURL: "ftp://acme.example/" must be an http(s) URL',
      'row 6, requestedCodes: "1000001" must be a whole number from 0 to 1000000',
    )
    sheet('events.csv', ['name,startDate', 'One,2026-01-01'])
    ends(await here.run('badge-events', 'create', '--file', 'events.csv'), 2, 'column "image" is missing')
    expect(await json('badge-events', 'list')).toEqual(before)
  })

  test('a sheet that is sent again creates nothing; a row that was changed is a new event', async () => {
    const rows = Array.from({ length: 5 }, (_, n) => row(`Kept ${n}`))
    sheet('events.csv', [heading, ...rows])
    const first = await create('--json')
    const again = await create('--json')
    expect(again.code).toBe(0)
    expect(again.lines()).toEqual(
      first.lines().map((line) => ({ ...(line as { row: number; id: number }), status: 'unchanged' })),
    )
    expect(again.stderr).toContain('0 created, 5 unchanged, 0 failed.')
    // Another folder, and another image of the same bytes, are the same event.
    writeFileSync(join(here.home, 'art/copy.png'), png())
    sheet('events.csv', [heading, row('Kept 0', 'art/copy.png'), row('Kept 1').replace('Lisbon', 'Porto')])
    expect((await create('--json')).lines()).toMatchObject([{ status: 'unchanged' }, { status: 'created' }])
    // An event by flags is a new one each time.
    const [one, two] = [
      await json('badge-events', 'create', ...flags),
      await json('badge-events', 'create', ...flags),
    ]
    expect(one.id).not.toBe(two.id)
  })

  test('images are judged before the first row, and every bad one is named', async () => {
    const before = await json('badge-events', 'list')
    writeFileSync(join(here.home, 'art/b.png'), Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0]))
    writeFileSync(join(here.home, 'art/c.png'), png().subarray(0, 60))
    writeFileSync(join(here.home, 'art/d.png'), Buffer.concat([png(), Buffer.alloc(4 * 1024 * 1024)]))
    writeFileSync(join(here.home, 'art/e.png'), '')
    const images = ['a', 'b', 'c', 'd', 'e'].map((name) => row(name, `art/${name}.png`))
    sheet('events.csv', [heading, ...images, row('a')])
    ends(
      await here.run('badge-events', 'create', '--file', 'events.csv', '--failed', 'again.csv'),
      2,
      'row 2, image: ',
      'art/b.png" is a JPEG; badge images must be PNG or GIF',
      'row 3, image: ',
      'is incomplete',
      'row 4, image: ',
      'must be under 4 MB',
      'row 5, image: ',
      'is empty',
      'row 6: is the same event as row 1',
      '5 rows are invalid. Nothing was written.',
    )
    ends(
      await here.run('badge-events', 'create', ...flags, '--image', 'art/b.png'),
      2,
      '--image: ',
      'is a JPEG',
    )
    expect(await json('badge-events', 'list')).toEqual(before)
  })

  test('one that was paused goes on without its sheet and images, and no event comes twice', async () => {
    const rows = Array.from({ length: 6 }, (_, n) => row(`Resumed ${n}`))
    sheet('events.csv', [heading, ...rows])
    const first = await here.interruptedRun(
      (stdout) => stdout.includes('"row":2,'),
      ...['badge-events', 'create', '--file', 'events.csv', '--name', 'spring', '--rate', '2', '--json'],
    )
    ends(first, 130, 'Stopped after ', ' of 6. Continue: tapchip batch resume b_')
    const other = cliHome(here.env)
    other.env.HOME = other.home
    renameSync(join(here.home, 'art'), join(other.home, 'elsewhere'))
    ends(await other.run('batch', 'resume', 'spring', '--rate', '1000'), 0, '6 created, 0 unchanged')
    other.remove()
    expect(await names('Resumed ')).toHaveLength(6)
  })

  const isFile = (request: string) => request.includes('/files/')

  test.each([
    ['image', isFile],
    ['plan', (request: string) => request.includes('/plan')],
  ])('one that was killed after its %s goes on by its name', async (what, isLast) => {
    writeFileSync(join(here.home, 'art/copy.png'), png())
    writeFileSync(join(here.home, 'art/other.png'), png(9, 9))
    const images = ['art/a.png', 'art/copy.png', 'art/other.png']
    sheet('events.csv', [
      heading,
      ...Array.from({ length: 12 }, (_, n) => row(`After ${what} ${n}`, images[n % 3])),
    ])
    const { url, seen } = await proxyUntil(daemon.url, isLast)
    here.env.TAPCHIP_PATIENCE_SECONDS = '0'
    const cut = await create('--name', `killed-${what}`, '--url', url)
    expect(cut.code).toBe(5)
    const state = what === 'image' ? 'uploading' : 'planned'
    expect(await json('batch', 'status', `killed-${what}`)).toMatchObject({ state, done: 0 })
    // Each image is sent once, whatever it is named, and however many rows have it.
    const left = await proxyUntil(daemon.url, () => false)
    const ran = await create('--name', `killed-${what}`, '--json', '--url', left.url)
    expect([ran.code, ran.lines()]).toMatchObject([0, { length: 12 }])
    const sent = [seen, left.seen].map((requests) => requests.filter(isFile).length)
    expect(sent).toEqual(what === 'image' ? [1, 2] : [2, 0])
    expect(await names(`After ${what} `)).toHaveLength(12)
  })

  test('a batch of one command is no other’s, and what is for batches needs a sheet', async () => {
    const token = ['--contract-address', `0x${'1'.repeat(40)}`, '--chain-id', '31337', '--token-id', '1']
    for (const [flag = '', ...command] of [
      ['--propose', 'badge-events', 'create', ...flags],
      ['--note', 'badge-events', 'assign', '1', ...token],
      ['--detach', 'guestbook', 'assign', '1', uids.blank],
      ['--until', 'items', 'edit', 'jacket', '--description', 'Warm'],
      ['--name', 'guestbook', 'mint', '1', '--recipient', 'ana.eth'],
    ]) {
      const value = { '--propose': [], '--detach': [], '--until': ['2099-01-01T00:00Z'] }[flag] ?? ['x']
      ends(await here.run(...command, flag, ...value), 2, `${flag} is for batches.`)
    }
    sheet('events.csv', [heading, row('Until')])
    ends(await create('--until', '2099-01-01T00:00Z'), 2, 'cannot be undone')
    ends(await create('--name', 'no name'), 2, '--name must be 1 to 64 letters')
    ends(await create('--city', 'Porto'), 2, '--file already says what the events are')
    expect(await names('Until')).toEqual([])
  })

  test('JSON and standard input do as well', async () => {
    here.stdin = JSON.stringify([
      {
        name: 'By JSON',
        startDate: today,
        endDate: today,
        expiryDate: '2099-01-01',
        requestedCodes: 4,
        virtualEvent: true,
        image: join(here.home, 'art/a.png'),
      },
    ])
    const ran = await here.run('badge-events', 'create', '--file', '-', '--json')
    expect([ran.code, ran.lines()]).toEqual([0, [{ row: 1, status: 'created', id: expect.any(Number) }]])
  })
})

describe('many assignments from a file', () => {
  test('a line a row; an unknown chip fails alone, and a pair that appears twice is refused', async () => {
    const { id } = await json('badge-events', 'create', ...flags)
    sheet('doors.csv', [
      'uid,badgeEventId',
      `${uids.blank},${id}`,
      `04000000000001,${id}`,
      `${uids.twin},${id}`,
    ])
    const ran = await here.run('badge-events', 'assign', '--file', 'doors.csv', '--json')
    expect(ran.code).toBe(3)
    expect(ran.lines()).toMatchObject([
      { row: 1, status: 'assigned' },
      { row: 2, status: 'failed', error: expect.stringContaining('No such chip') },
      { row: 3, status: 'assigned' },
    ])
    const again = await here.run('badge-events', 'assign', '--file', 'doors.csv', '--json')
    expect(again.lines()).toMatchObject([
      { status: 'unchanged' },
      { status: 'failed' },
      { status: 'unchanged' },
    ])
    expect(again.stderr).toContain('0 assigned, 2 unchanged, 1 failed.')
    sheet('doors.csv', ['uid,badgeEventId,title', `${uids.blank},${id},Hello`])
    const titled = await here.run('badge-events', 'assign', '--file', 'doors.csv', '--json')
    expect(titled.lines()).toMatchObject([{ status: 'assigned' }])
    const one = ['badge-events', 'assign', String(id), '--uid', uids.blank, '--title', 'Hello'] as const
    expect(await json(...one)).toEqual({ success: true, status: 'unchanged' })
    sheet('doors.csv', ['uid,badgeEventId', `${uids.blank},${id}`, `${uids.blank},${id}`])
    ends(await here.run('badge-events', 'assign', '--file', 'doors.csv'), 2, 'is already in row 1')
    sheet('doors.csv', ['uid,badgeEventId', `${uids.blank},x`, 'nothing,4'])
    ends(
      await here.run('badge-events', 'assign', '--file', 'doors.csv'),
      2,
      'row 1, badgeEventId',
      'row 2, uid',
    )
  })
})

test('on a terminal, what was left out is asked for', async () => {
  const answers: [RegExp, string][] = [
    [/Name of the event/, 'Typed\r'],
    [/First day/, `${today}\r`],
    [/How many badges/, '7\r'],
    [/File of the image/, `${join(here.home, 'badge.png')}\r`],
  ]
  const { code, screen } = await new Promise<{ code: number | null; screen: string }>((resolve) => {
    const command = `'${process.execPath}' '${executable}' badge-events create`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env.PATH ?? '', TERM: 'xterm', SHELL: '/bin/sh', ...here.env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let screen = ''
    child.stdout.on('data', (chunk) => {
      screen += String(chunk)
      const [next] = answers
      if (next?.[0].test(screen)) {
        answers.shift()
        child.stdin.write(next[1])
      }
    })
    child.on('close', (code) => resolve({ code, screen }))
  })
  expect([code, screen]).toEqual([0, expect.stringContaining('Typed')])
  expect((await json('badge-events', 'list', '--limit', '1'))[0]).toMatchObject({
    name: 'Typed',
    requestedCodes: 7,
  })
})
