import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, ends, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { proxyUntil } from '../support/proxy-until.ts'
import { seed, uids } from '../support/seeds.ts'

let here: CliHome
let daemon: TestDaemon
withDaemon({ seed }, (...given) => {
  ;[here, daemon] = given
})

const [blank, plain, unknown] = [uids.blank, uids.plain, '04000000000011']
let last = 0
const sheet = (name: string, ...chips: readonly string[]): string => {
  last += 1
  const rows = chips.map((uid) => `${uid},https://example.com/${last}`)
  writeFileSync(join(here.home, name), `uid,redirectUrl\n${rows.join('\n')}\n`)
  return name
}
const edit = (file: string, ...flags: string[]) => here.run('chips', 'edit', '--file', file, ...flags)
const status = async (id: string) => (await here.json('batch', 'status', id)) as Record<string, unknown>
const redirectOf = async (uid: string) =>
  ((await here.json('chips', 'show', uid)) as { redirectUrl: string | null }).redirectUrl
const anId = expect.stringMatching(/^b_[0-9a-z]{14}$/)

describe('--detach', () => {
  test('prints its one object alone, and the batch is done without the command', async () => {
    const ran = await edit(sheet('a.csv', blank, plain), '--detach', '--json', '--note', 'by night')
    expect([ran.code, ran.json()]).toEqual([0, { id: anId, name: null, state: 'running' }])
    const { id } = ran.json() as { id: string }
    const followed = await here.run('batch', 'follow', id, '--json')
    expect([followed.code, followed.lines()]).toMatchObject([
      0,
      [
        { row: 1, status: 'changed' },
        { row: 2, status: 'changed' },
      ],
    ])
    expect(await status(id)).toEqual({
      ...{ id, name: null, kind: 'chips edit', state: 'done', team: 'Acme', startedBy: expect.any(String) },
      ...{ approvedBy: null, note: 'by night', at: null, until: null, host: expect.any(String) },
      ...{ context: null, undoes: null, total: 2, done: 2, changed: 2, unchanged: 0, failed: 0, conflict: 0 },
      ...{ error: null, lateSeconds: null, auditHead: expect.stringMatching(/^[0-9a-f]{64}$/) },
      ...{ createdAt: expect.any(String), startedAt: expect.any(String), endedAt: expect.any(String) },
    })
    expect(await here.json('batch', 'list', '--all')).toContainEqual(
      expect.objectContaining({ id, kind: 'chips edit', state: 'done', done: 2, failed: 0, total: 2 }),
    )
  })
})

describe('--name', () => {
  test('with the same rows the batch is followed, and ends as it did', async () => {
    const file = sheet('b.csv', blank, unknown)
    const first = await edit(file, '--name', 'sale', '--json')
    expect([first.code, first.lines()]).toMatchObject([3, [{ status: 'changed' }, { status: 'failed' }]])
    const again = await edit(file, '--name', 'sale', '--json')
    expect([again.code, again.stdout]).toEqual([3, first.stdout])
    expect(again.stderr).toContain('(sale) was started before, and is done')
    const other = await edit(sheet('c.csv', plain), '--name', 'sale')
    expect([other.code, other.stdout]).toEqual([2, ''])
    expect((await here.run('batch', 'report', 'sale', '--failed', '--json')).lines()).toMatchObject([
      { row: 2, status: 'failed' },
    ])
    expect((await here.run('batch', 'follow', 'sale')).code).toBe(3)
  })

  test('one that was paused goes on', async () => {
    const file = sheet('d.csv', ...Object.values(uids).slice(0, 5))
    const ran = await here.interruptedRun(
      (out) => out.includes('"row":1,'),
      ...['chips', 'edit', '--file', file, '--name', 'slow', '--rate', '1', '--json'],
    )
    expect([ran.code, ran.stderr]).toEqual([
      130,
      expect.stringMatching(/Stopped after [1-4] of 5\. Continue: tapchip batch resume b_/),
    ])
    expect(await status('slow')).toMatchObject({ state: 'paused', name: 'slow' })
    const again = await edit(file, '--name', 'slow', '--rate', '1000', '--json')
    expect([again.code, again.lines().length]).toEqual([0, 5])
  })

  test('has letters, digits, dots, hyphens and underscores', async () => {
    for (const name of ['not this', '.', '..', ''])
      ends(await edit('d.csv', '--name', name), 2, '--name must be 1 to 64 letters')
  })
})

describe('--at and --until', () => {
  test('a batch that is to start later says so, is listed, and can be called off', async () => {
    const file = sheet('e.csv', blank)
    const ran = await edit(file, '--at', '2099-11-27T18:00 Europe/Rome', '--name', 'friday')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('starts at 2099-11-27T17:00:00.000Z')])
    expect(await status('friday')).toMatchObject({ state: 'scheduled', at: '2099-11-27T17:00:00.000Z' })
    const cancelled = await here.run('batch', 'cancel', 'friday', '--json')
    expect([cancelled.code, cancelled.json()]).toMatchObject([0, { state: 'cancelled' }])
    ends(await edit(file, '--name', 'friday'), 2, 'was cancelled')
  })

  test('one that starts in a moment is followed until it is done', async () => {
    const at = new Date(Date.now() + 1500).toISOString()
    const ran = await edit(sheet('f.csv', blank), '--at', at, '--detach', '--json')
    const { id, state } = ran.json() as { id: string; state: string }
    expect([ran.code, state]).toEqual([0, 'scheduled'])
    expect((await here.run('batch', 'follow', id)).code).toBe(0)
    expect(await redirectOf(blank)).toBe(`https://example.com/${last}`)
  })

  test('a time that is none is refused before anything is sent', async () => {
    ends(await edit('f.csv', '--at', 'tomorrow'), 2, '--at "tomorrow" is not a time with an offset or a zone')
    ends(await edit('f.csv', '--until', '2026-03-29T02:30 Europe/Rome'), 2, '--until')
    ends(
      await edit(sheet('o.csv', blank), '--at', '2020-01-01T00:00Z', '--until', '2020-01-02T00:00Z'),
      2,
      'until has passed',
    )
  })
})

describe('--propose', () => {
  test('waits for somebody else: nobody approves his own', async () => {
    const ran = await edit(sheet('g.csv', blank, plain), '--propose', '--name', 'asked', '--note', 'Spring')
    expect([ran.code, ran.stderr]).toEqual([
      0,
      expect.stringContaining('waits until somebody else approves it'),
    ])
    expect(await status('asked')).toMatchObject({ state: 'proposed', note: 'Spring', approvedBy: null })
    const own = await here.run('batch', 'approve', 'asked')
    expect([own.code, own.stdout]).toEqual([4, ''])
    // Somebody changes a chip in between.
    await here.run('chips', 'edit', '--uid', plain, '--redirect-url', 'https://example.com/theirs')
    const { TAPCHIP_API_KEY, ...others } = here.env
    expect(TAPCHIP_API_KEY).toBeDefined()
    const key = (await here.json('api-keys', 'create', '--name', 'second', '--scopes', 'approve,edit')) as {
      key: string
    }
    Object.assign(here.env, others, { TAPCHIP_API_KEY: key.key })
    const approved = await here.run('batch', 'approve', 'asked', '--json')
    expect([approved.code, approved.lines()]).toMatchObject([
      3,
      [
        { row: 1, status: 'changed' },
        { row: 2, status: 'conflict' },
      ],
    ])
    expect(await redirectOf(plain)).toBe('https://example.com/theirs')
    expect(await status('asked')).toMatchObject({
      state: 'done',
      approvedBy: expect.stringContaining('second'),
    })
  })
})

describe('batch approve', () => {
  test('by whoever may approve, and not read rows, tells how it ends', async () => {
    writeFileSync(join(here.home, 'l.csv'), `uid,disabled\n${uids.twin},true\n04AB00000000FE,true\n`)
    const flags = ['--team', 'Acme', '--file', 'l.csv', '--propose', '--name', 'closing', '--yes']
    expect((await here.run('chips', 'apply', ...flags)).code).toBe(0)
    const { token } = (await here.json(
      ...['admin-tokens', 'create', '--name', 'approver', '--scopes', 'approve'],
    )) as { token: string }
    const { TAPCHIP_ADMIN_TOKEN } = here.env
    here.env.TAPCHIP_ADMIN_TOKEN = token
    const approved = await here.run('batch', 'approve', 'closing', '--yes')
    Object.assign(here.env, { TAPCHIP_ADMIN_TOKEN })
    expect([approved.code, approved.stdout]).toEqual([3, ''])
    expect(approved.stderr).toContain('1 would fail. It disables 1.')
    expect(approved.stderr).toContain('1 changed, 0 unchanged, 1 failed.')
    expect(await status('closing')).toMatchObject({ state: 'done', approvedBy: 'approver' })
  })
})

describe('the verbs', () => {
  test('pause, resume, undo and remove take a name from any machine', async () => {
    const file = sheet('h.csv', ...Object.values(uids).slice(0, 4))
    await edit(file, '--name', 'verbs', '--rate', '1', '--detach')
    expect((await here.run('batch', 'pause', 'verbs')).code).toBe(0)
    expect(await status('verbs')).toMatchObject({ state: 'paused' })
    const resumed = await here.run('batch', 'resume', 'verbs', '--rate', '1000', '--json')
    expect(resumed.code).toBe(0)
    ends(await here.run('batch', 'resume', 'verbs'), 0, 'Nothing to do')
    ends(await here.run('batch', 'undo', 'verbs'), 2, 'Restore 4 chips? Confirm with --yes')
    expect((await here.run('batch', 'undo', 'verbs', '--yes')).code).toBe(0)
    expect(await status('verbs')).toMatchObject({ state: 'undone' })
    expect((await here.run('batch', 'remove', 'verbs', '--yes')).code).toBe(0)
    ends(await here.run('batch', 'status', 'verbs'), 2, 'There is no batch "verbs"')
  })

  test('failed rows are tried again', async () => {
    const ran = await edit(sheet('i.csv', unknown, blank), '--json')
    const id = /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? ''
    const again = await here.run('batch', 'resume', id, '--retry-failed', '--json')
    expect([again.code, again.lines()]).toMatchObject([3, [{ row: 1, status: 'failed' }]])
  })
})

test('the ID is told before the rows are uploaded, and once', async () => {
  const file = sheet('m.csv', blank)
  const ran = await edit(file, '--name', 'told')
  const { id } = await status('told')
  expect(ran.stderr.split(`Batch ${id} (told): 1 row\n`)).toHaveLength(2)
  const undone = await here.run('batch', 'undo', 'told', '--yes')
  expect(undone.stderr.match(/^Batch b_[0-9a-z]{14}: 1 row$/gm)).toHaveLength(1)
  here.env.TAPCHIP_PATIENCE_SECONDS = '0'
  const proxy = await proxyUntil(daemon.url, (request) => request.includes('/rows'))
  const cut = await here.run('chips', 'edit', '--file', file, '--name', 'cut', '--url', proxy.url)
  delete here.env.TAPCHIP_PATIENCE_SECONDS
  const { id: left, state } = await status('cut')
  expect([cut.code, state, cut.stderr]).toEqual([
    5,
    'uploading',
    expect.stringContaining(`Batch ${left} (cut): 1 row\n`),
  ])
})

test('batch list has what is not over, of every machine, and what was begun on this one', async () => {
  const begin = (name: string, ...more: string[]) =>
    edit(sheet('n.csv', plain), '--name', name, ...more, '--detach')
  await begin('theirs-done')
  await begin('theirs-kept', '--until', '2099-01-01T00:00Z')
  await begin('theirs-scheduled', '--at', '2099-01-01T00:00Z')
  await here.run('batch', 'follow', 'theirs-kept')
  await daemon.ctx.db.write((trx) =>
    trx.updateTable('batches').set({ host: 'elsewhere' }).where('name', 'like', 'theirs-%').execute(),
  )
  await begin('ours-done')
  await here.run('batch', 'follow', 'ours-done')
  const names = async (...flags: string[]) =>
    ((await here.json('batch', 'list', ...flags)) as { name: string | null }[]).flatMap(({ name }) =>
      /^(ours|theirs)-/.test(name ?? '') ? [name] : [],
    )
  expect(await names()).toEqual(['ours-done', 'theirs-scheduled', 'theirs-kept'])
  expect(await names('--all')).toEqual(['ours-done', 'theirs-scheduled', 'theirs-kept', 'theirs-done'])
  ends(await here.run('batch', 'remove', 'theirs-kept', '--yes'), 1, 'undo it first: tapchip batch undo')
})

test('a dry run leaves nothing behind', async () => {
  const before = await here.json('batch', 'list')
  const ran = await edit(sheet('j.csv', blank), '--dry-run')
  expect(ran.code).toBe(0)
  expect(await here.json('batch', 'list')).toEqual(before)
})

test('a plan that disables needs --yes off a terminal, one that clears a text does not', async () => {
  writeFileSync(join(here.home, 'k.csv'), `uid,disabled\n${blank},true\n`)
  const apply = (...flags: string[]) =>
    here.run('chips', 'apply', '--team', 'Acme', '--file', 'k.csv', ...flags)
  ends(await apply(), 2, 'Apply this to 1 chip (disables 1)? Confirm with --yes')
  expect((await apply('--yes')).code).toBe(0)
  writeFileSync(join(here.home, 'k.csv'), `uid,disabled,redirectUrl\n${blank},false,\n`)
  expect((await apply()).code).toBe(0)
})
