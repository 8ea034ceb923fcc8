import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EmulatedCard } from '../../src/nfc/emulator/card.ts'
import { factoryMemory } from '../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { VARIANTS } from '../../src/nfc/emulator/variants.ts'
import { readTap } from '../../src/nfc/read-tap.ts'
import { runScript } from '../../src/nfc/script.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { keySets, masterKeys, nfcSeed } from '../support/nfc.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let at: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: nfcSeed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  at = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterEach(() => at.remove())

const wanted = ['--key-set', '201', '--chip-group', 'Jackets', '--team', 'Acme', '--accept-url']
const onEmulator = ['--reader', 'emulator', '--timeout', '1']
const provision = (...more: string[]) =>
  at.run('nfc', 'provision', ...wanted, ...onEmulator, '--json', ...more)
const lines = (ran: { lines(): unknown[] }) => ran.lines() as Record<string, unknown>[]
const admin = async (path: string) =>
  (
    await fetch(daemon.url + path, { headers: { authorization: `Bearer ${daemon.adminToken}` } })
  ).json() as Promise<Record<string, unknown>>
const emulatorFile = () => join(at.home, '.local/state/tapchip/emulator.json')
const batches = () => {
  const folder = join(at.home, '.local/state/tapchip/batches')
  return existsSync(folder) ? readdirSync(folder).map((name) => name.replace('.jsonl', '')) : []
}
const sheet = (rows: number, prefix: string) => {
  const file = join(at.home, `${prefix}.csv`)
  const text = Array.from(
    { length: rows },
    (_, i) => `${prefix}-${i + 1},https://example.com/${prefix}/${i + 1}\n`,
  )
  writeFileSync(file, `label,redirectUrl\n${text.join('')}`)
  return file
}

describe('nfc provision on the emulator', () => {
  test('sets up the card that it keeps: a line, and a tap that is valid once', async () => {
    const ran = await provision()
    expect(ran.stderr).not.toMatch(/Batch/)
    expect(ran.code).toBe(0)
    const [line] = lines(ran)
    expect(line).toEqual({
      uid: expect.stringMatching(/^\d+$/),
      status: 'provisioned',
      keySet: 201,
      url: `${daemon.url}/t?d=201&e=${'0'.repeat(32)}&c=${'0'.repeat(16)}`,
      reader: 'emulator',
    })
    expect(lines(await provision())).toEqual([{ ...line, status: 'unchanged' }])

    const chip = VirtualNtag424.fromJSON(JSON.parse(readFileSync(emulatorFile(), 'utf8')))
    const { url } = await runScript(new EmulatedCard('test', chip), readTap())
    expect((await fetch(url ?? '')).status).toBe(200)
    expect((await fetch(url ?? '')).status).toBe(410)
  })

  test('says it in words for people, and what comes next', async () => {
    const ran = await at.run('nfc', 'provision', ...wanted, ...onEmulator)
    expect(ran.stdout).toMatch(/^\d+ \(04:.*\) {2}provisioned\n$/)
    expect(ran.code).toBe(0)
  })

  test('thirty chips in a row, each with its label', async () => {
    const began = Date.now()
    const ran = await provision('--file', sheet(30, 'H'))
    const seconds = (Date.now() - began) / 1000
    expect(ran.code).toBe(0)
    expect(ran.stderr).toMatch(/Batch b_\w+: 30 chips/)
    expect(ran.stderr).toMatch(/30 chips of 30 done: 30 provisioned, 0 unchanged, 0 failed/)
    process.stderr.write(`${Math.round((30 * 60) / seconds)} chips a minute on the emulator\n`)
    const done = lines(ran)
    expect(new Set(done.map(({ uid }) => uid)).size).toBe(30)
    expect(done.map(({ row }) => row)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1))
    for (const { uid, row } of [done[0], done[17], done[29]] as { uid: string; row: number }[])
      expect(await admin(`/admin/chips/${uid}`)).toMatchObject({
        label: `H-${row}`,
        redirectUrl: `https://example.com/H/${row}`,
        chipGroup: { name: 'Jackets' },
      })
  })

  test('names the rows whose labels other chips have, and ends with 3', async () => {
    const [, worn] = lines(await provision('--file', sheet(2, 'Worn')))
    const file = join(at.home, 'next.csv')
    writeFileSync(file, 'label\nWorn-2\nNext-1\n')
    const ran = await at.run('nfc', 'provision', ...wanted, ...onEmulator, '--file', file)
    expect([ran.code, worn?.row]).toEqual([3, 2])
    expect(ran.stdout).toMatch(/provisioned {2}row 2 \(Next-1\) {2}2 of 2\n$/)
    expect(ran.stderr).toContain(`row 1 (Worn-2): already on the chip ${worn?.uid} (`)
    expect(ran.stderr).toContain('in the group Jackets, so it gets no chip here.')
    expect(ran.stderr).toContain(
      '1 provisioned, 0 unchanged, 0 failed, 1 row with a label that another chip has (',
    )
  })

  test('says where a chip is set up and not as it should be', async () => {
    at.env.TAPCHIP_EMULATOR = 'tagtamper'
    expect(lines(await provision())[0]).not.toHaveProperty('warning')
    const memory = JSON.parse(readFileSync(emulatorFile(), 'utf8'))
    memory.tamper.current = 'O'
    writeFileSync(emulatorFile(), JSON.stringify(memory))
    expect(lines(await provision())[0]).toMatchObject({
      status: 'unchanged',
      warning: expect.stringMatching(/open/),
    })
  })

  test('--count puts down fresh chips, and keeps the last', async () => {
    const ran = await provision('--count', '3')
    expect(lines(ran).map(({ status }) => status)).toEqual(Array(3).fill('provisioned'))
    expect(lines(ran)[0]).not.toHaveProperty('row')
    expect(lines(await provision())[0]).toMatchObject({ status: 'unchanged', uid: lines(ran)[2]?.uid })
  })

  test('--rekey gives the card new keys, each time once', async () => {
    const [first] = lines(await provision())
    expect(lines(await provision('--rekey'))[0]).toMatchObject({ status: 'provisioned' })
    expect(await admin(`/admin/chips/${first?.uid}`)).toMatchObject({ generation: 1 })
    const other = [...wanted]
    other[1] = '202'
    const refused = await at.run('nfc', 'provision', ...other, ...onEmulator, '--json')
    expect(refused.code).toBe(1)
    expect(lines(refused)).toMatchObject([
      { uid: first?.uid, status: 'failed', keySet: 202, error: expect.stringContaining('--rekey') },
    ])
    const moved = await at.run('nfc', 'provision', ...other, ...onEmulator, '--json', '--rekey')
    expect(lines(moved)).toMatchObject([{ status: 'provisioned', keySet: 202 }])
  })

  test('a token of scope provision is enough, and one of scope read is not', async () => {
    const made = async (scope: string) =>
      (await at.run('admin-tokens', 'create', '--name', scope, '--scopes', scope, '--json')).json() as {
        token: string
      }
    const [able, unable] = [(await made('provision')).token, (await made('read')).token]
    at.env.TAPCHIP_ADMIN_TOKEN = unable
    expect((await provision()).code).toBe(4)
    at.env.TAPCHIP_ADMIN_TOKEN = able
    expect(lines(await provision('--count', '2')).map(({ status }) => status)).toEqual(
      Array(2).fill('provisioned'),
    )
    expect((await at.run('nfc', 'recover', '--json', ...onEmulator)).code).toBe(0)
    expect((await at.run('nfc', 'reset', '--yes', ...onEmulator)).code).toBe(0)
  })

  test('no key of a key set reaches this machine, but on the chip itself', async () => {
    const ran = await provision('--count', '2')
    const files = batches().map((id) =>
      readFileSync(join(at.home, '.local/state/tapchip/batches', `${id}.jsonl`), 'utf8'),
    )
    const seen = [ran.stdout, ran.stderr, ...files].join('\n').toLowerCase()
    expect(seen.length).toBeGreaterThan(500)
    for (const key of masterKeys) expect(seen).not.toContain(key)
    const id = batches()[0]
    expect(statSync(join(at.home, '.local/state/tapchip/batches', `${id}.jsonl`)).mode & 0o777).toBe(0o600)
  })
})

describe('what ends it before any chip is touched', () => {
  const unwritten = () => expect(existsSync(emulatorFile())).toBe(false)

  test('a base URL on loopback, without --accept-url', async () => {
    const some = wanted.filter((word) => word !== '--accept-url')
    for (const more of [[], ['--count', '3'], ['--dry-run'], ['--file', sheet(2, 'Loop'), '--dry-run']]) {
      const ran = await at.run('nfc', 'provision', ...some, ...onEmulator, ...more)
      expect([ran.code, ran.stdout]).toEqual([2, ''])
      expect(ran.stderr).toMatch(/loopback.*--accept-url/)
      expect(ran.stderr.match(/loopback/g)).toHaveLength(1)
    }
    expect(batches()).toEqual([])
    unwritten()
  })

  test('rows that do not fit: all of them named, exit 2', async () => {
    const file = join(at.home, 'bad.csv')
    writeFileSync(file, 'label,item,variant,redirectUrl\nA,,s,\nA,,,javascript:alert(1)\n')
    const ran = await provision('--file', file)
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain('row 1, item: is missing')
    expect(ran.stderr).toContain('row 2, label: "A" is already in row 1')
    expect(ran.stderr).toContain('row 2, redirectUrl')
    writeFileSync(file, 'label,uid\nA,1\n')
    expect((await provision('--file', file)).stderr).toContain('uid')
    expect((await provision('--file', sheet(2, 'few'), '--count', '3')).code).toBe(2)
    unwritten()
  })

  test('a key set that is not there, or cannot set chips up; no token; no daemon', async () => {
    const withKeySet = (id: string) => [...wanted.map((word) => (word === '201' ? id : word)), ...onEmulator]
    for (const more of [[], ['--dry-run'], ['--count', '2'], ['--file', sheet(2, 'Set')]]) {
      expect((await at.run('nfc', 'provision', ...withKeySet('999'), ...more)).code).toBe(2)
      const verifying = await at.run('nfc', 'provision', ...withKeySet(String(keySets.verifying.id)), ...more)
      expect([verifying.code, verifying.stderr]).toEqual([
        ...[2, expect.stringContaining('no application master key')],
      ])
    }
    at.env.TAPCHIP_ADMIN_TOKEN = 'adm_wrong'
    expect((await provision()).code).toBe(4)
    at.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    expect((await provision()).code).toBe(5)
    unwritten()
  })

  test('an unknown group, or rows with an unknown item, named once', async () => {
    const inGroup = wanted.map((word) => (word === 'Jackets' ? '99999' : word))
    const file = join(at.home, 'items.csv')
    writeFileSync(file, 'label,item\nA,jacket\nB,no-such-item\nC,no-such-item\n')
    for (const more of [[], ['--dry-run']]) {
      const group = await at.run('nfc', 'provision', ...inGroup, ...onEmulator, ...more)
      expect([group.code, group.stderr]).toEqual([
        2,
        expect.stringContaining('There is no chip group 99999.'),
      ])
      const ran = await provision('--file', file, ...more)
      expect([ran.code, ran.stdout]).toEqual([2, ''])
      expect(ran.stderr.match(/no-such-item/g)).toHaveLength(1)
    }
    expect(batches()).toEqual([])
    unwritten()
  })

  test('--dry-run shows the request', async () => {
    const ran = await provision('--dry-run')
    expect(ran.code).toBe(0)
    expect(lines(ran)).toMatchObject([{ dryRun: true, method: 'POST', body: { purpose: 'provision' } }])
  })

  test('flags that say nothing together: exit 2', async () => {
    for (const more of [['--start-over'], ['--reader', 'all'], ['--resume', 'b_1', '--count', '2']]) {
      const ran = await at.run('nfc', 'provision', ...wanted, ...more)
      expect([more, ran.code]).toEqual([more, 2])
    }
    expect(batches()).toEqual([])
  })

  test('no such reader: exit 6', async () => {
    const ran = await at.run('nfc', 'provision', ...wanted, '--reader', 'none of that name', '--timeout', '1')
    expect(ran.code).toBe(6)
  })
})

describe('a box that is stopped', () => {
  test('ends in order with 130, and goes on where it was', async () => {
    const file = sheet(6, 'S')
    const stopped = await at.interruptedRun(
      (stdout) => stdout.split('\n').length > 2,
      ...['nfc', 'provision', ...wanted, ...onEmulator, '--json', '--file', file],
    )
    expect(stopped.code).toBe(130)
    const first = lines(stopped)
    expect(first.length).toBeGreaterThanOrEqual(2)
    expect(first.length).toBeLessThan(6)
    const [id] = batches()
    expect(stopped.stderr).toContain(`nfc provision --resume ${id}`)

    // The line that it printed is enough: the box knows its reader.
    const resumed = await at.run('nfc', 'provision', '--resume', id ?? '', '--json')
    expect(resumed.code).toBe(0)
    const all = [...first, ...lines(resumed)]
    expect(all.map(({ row }) => row)).toEqual([1, 2, 3, 4, 5, 6])
    for (const { uid, row } of all)
      expect(await admin(`/admin/chips/${uid}`)).toMatchObject({ label: `S-${row}` })
    const again = await at.run('nfc', 'provision', '--resume', id ?? '', ...onEmulator)
    expect(again.stderr).toContain('Nothing to do')
  })

  test('is a batch like others: listed, shown, reported, and gone on with', async () => {
    const file = sheet(4, 'V')
    const stopped = await at.interruptedRun(
      (stdout) => stdout.includes('\n'),
      ...['nfc', 'provision', ...wanted, ...onEmulator, '--json', '--file', file],
    )
    const first = lines(stopped)
    const [id = ''] = batches()
    const seen = { id, kind: 'nfc provision', total: 4, unchanged: 0, failed: 0 }
    const stands = { ...seen, state: 'paused', changed: first.length }
    expect((await at.run('batch', 'list', '--json')).json()).toMatchObject([stands])
    const resumed = await at.run('batch', 'resume', id, ...onEmulator, '--json')
    expect([resumed.code, lines(resumed).length]).toEqual([0, 4 - first.length])
    // Of both runs.
    const done = { ...seen, state: 'done', changed: 4 }
    expect((await at.run('batch', 'list', '--json')).json()).toMatchObject([done])
    expect((await at.run('batch', 'status', id, '--json')).json()).toMatchObject(done)
    const report = await at.run('batch', 'report', id, '--json')
    expect(report.lines()).toEqual(
      [...first, ...lines(resumed)].map(({ row, uid }) => ({ row, uid, status: 'provisioned' })),
    )
    expect((await at.run('batch', 'report', id)).stdout).toMatch(/^row 1 {2}\d+ \(04:.*\) {2}provisioned\n/)
    expect((await at.run('batch', 'report', id, '--failed')).stdout).toBe('')
    const undone = await at.run('batch', 'undo', id, '--yes')
    expect([undone.code, undone.stderr]).toEqual([2, expect.stringContaining('tapchip nfc reset')])
  })

  test('does not go on at another daemon', async () => {
    await at.interruptedRun(
      (stdout) => stdout.includes('\n'),
      ...['nfc', 'provision', ...wanted, ...onEmulator, '--json', '--file', sheet(3, 'W')],
    )
    const [id = ''] = batches()
    const file = join(at.home, '.local/state/tapchip/batches', `${id}.jsonl`)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"instance":"[^"]*"/, '"instance":"other"'))
    for (const args of [
      ['nfc', 'provision', '--resume', id],
      ['batch', 'resume', id],
      ['batch', 'resume', id, '--yes'],
    ]) {
      const ran = await at.run(...args, ...onEmulator)
      expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('started at another daemon')])
    }
  })

  test('goes on after the daemon has forgotten its run of the sheet', async () => {
    const stopped = await at.interruptedRun(
      (stdout) => stdout.includes('\n'),
      ...['nfc', 'provision', ...wanted, ...onEmulator, '--json', '--file', sheet(3, 'X')],
    )
    await daemon.ctx.db.write((trx) => trx.deleteFrom('nfcSheets').execute())
    const [id = ''] = batches()
    const resumed = await at.run('nfc', 'provision', '--resume', id, ...onEmulator, '--json')
    expect([resumed.code, resumed.stderr]).toEqual([0, expect.any(String)])
    const rows = [...lines(stopped), ...lines(resumed)].map(({ row }) => row)
    expect(rows).toEqual([1, 2, 3])
  })

  test('does not go on with another sheet', async () => {
    const file = sheet(3, 'T')
    await at.interruptedRun(
      (stdout) => stdout.includes('\n'),
      ...['nfc', 'provision', ...wanted, ...onEmulator, '--json', '--file', file],
    )
    writeFileSync(file, 'label\nother\n')
    const ran = await at.run('nfc', 'provision', '--resume', batches()[0] ?? '', ...onEmulator)
    expect(ran.code).toBe(2)
    expect((await at.run('nfc', 'provision', '--resume', 'b_none', ...onEmulator)).code).toBe(2)
  })

  test('by a kill between the daemon and its own record finds the chip that was done, and shifts no row', async () => {
    const file = sheet(3, 'U')
    const ran = await provision('--file', file)
    expect(ran.code).toBe(0)
    const [id = ''] = batches()
    const kept = join(at.home, '.local/state/tapchip/batches', `${id}.jsonl`)
    // As if it had been killed before the second result was written, in the middle of a line.
    const written = readFileSync(kept, 'utf8')
      .replace(/"processStart":"[^"]*"/, '"processStart":"ended"')
      .split('\n')
    const cut = written.findIndex((line, i) => line.includes('"result"') && i > 3)
    writeFileSync(kept, `${written.slice(0, cut).join('\n')}\n${written[cut]?.slice(0, 9)}`)
    const resumed = await at.run('nfc', 'provision', '--resume', id, ...onEmulator, '--json')
    // Its own record of the third chip is gone as well, but the daemon knows that each row has its chip.
    expect([resumed.code, lines(resumed), resumed.stderr]).toEqual([
      0,
      [],
      expect.stringContaining('2 chips of 3 done: 0 provisioned, 0 unchanged, 0 failed, 1 elsewhere'),
    ])
  })
})

describe('the virtual chip that TAPCHIP_EMULATOR asks for', () => {
  const verified = async () => lines(await at.run('nfc', 'verify', ...onEmulator, '--json'))[0]

  test('with a loop: is set up to show it, and that it was opened', async () => {
    at.env.TAPCHIP_EMULATOR = 'tagtamper'
    expect(lines(await provision())).toMatchObject([{ status: 'provisioned' }])
    expect(await verified()).toMatchObject({ isValidTap: true, url: expect.stringContaining('&t=CC&c=') })
    const kept = JSON.parse(readFileSync(emulatorFile(), 'utf8'))
    writeFileSync(emulatorFile(), JSON.stringify({ ...kept, tamper: { ...kept.tamper, current: 'O' } }))
    expect(await verified()).toMatchObject({ isValidTap: true, url: expect.stringContaining('&t=OO&c=') })
    expect((await at.run('nfc', 'verify', ...onEmulator)).stderr).toContain('Its seal is open.')
  })

  test('a clone: is refused before it is written, unless that is allowed', async () => {
    at.env.TAPCHIP_EMULATOR = 'clone'
    const ran = await provision()
    expect(ran.code).toBe(1)
    expect(lines(ran)).toMatchObject([
      { status: 'failed', error: expect.stringContaining('originality signature') },
    ])
    const { memory } = VirtualNtag424.fromJSON(JSON.parse(readFileSync(emulatorFile(), 'utf8')))
    expect(memory).toEqual(factoryMemory(memory.uid, VARIANTS.clone))
    expect(lines(await provision('--allow-unsigned'))).toMatchObject([{ status: 'provisioned' }])
  })

  test('in LRP mode: is set up in it', async () => {
    at.env.TAPCHIP_EMULATOR = 'lrp'
    expect(lines(await provision())).toMatchObject([{ status: 'provisioned' }])
  })
})
