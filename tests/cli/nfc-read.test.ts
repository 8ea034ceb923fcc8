import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { derived, plain, seed, uids } from '../support/seeds.ts'
import { setUpChip } from '../support/set-up-chip.ts'

const renamed = { ...derived, id: 104, parameters: { e: 'enc', c: 'mac', d: 'ks' } }
const uidOfRenamed = '04AB12CD34EF80'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  const [acme, ...others] = seed.teams
  const group = { name: 'Renamed', chips: [{ uid: uidOfRenamed, keySet: renamed.id }] }
  daemon = await startTestDaemon({
    seed: {
      ...seed,
      keySets: [...seed.keySets, renamed],
      teams: [{ ...acme, chipGroups: [...(acme?.chipGroups ?? []), group] }, ...others],
    },
  })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url })
})
afterEach(() => here.remove())

const file = () => join(here.home, '.local/state/tapchip/emulator.json')
const keep = (chip: VirtualNtag424) => {
  mkdirSync(dirname(file()), { recursive: true })
  writeFileSync(file(), JSON.stringify(chip.toJSON()))
}
const kept = () => VirtualNtag424.fromJSON(JSON.parse(readFileSync(file(), 'utf8')))
const emulator = (verb: string, ...args: string[]) => here.run('nfc', verb, '--reader', 'emulator', ...args)
const isUrl = expect.stringMatching(/^https:\/\/n\.example\/t\?d=101&e=[0-9A-F]{32}&c=[0-9A-F]{16}$/)

describe('nfc read', () => {
  test('prints what a chip shows, and costs exactly one count', async () => {
    keep(await setUpChip(derived, uids.jacket))
    for (const counter of [1, 2]) {
      const ran = await emulator('read', '--json')
      expect([ran.code, ran.stderr]).toEqual([0, ''])
      expect(ran.json()).toEqual({
        reader: 'emulator',
        family: 'ntag424',
        url: isUrl,
        e: expect.stringMatching(/^[0-9A-F]{32}$/),
        c: expect.stringMatching(/^[0-9A-F]{16}$/),
        d: '101',
      })
      expect(kept().memory.sdmReadCounter).toBe(counter)
    }
  })

  test('tells a person the family, and what comes next', async () => {
    keep(await setUpChip(derived, uids.jacket))
    const ran = await emulator('read')
    expect(ran.stdout).toMatch(/Family: +NTAG 424 DNA\nURL: +https:/)
    expect(ran.stderr).toContain('tapchip nfc verify')
  })

  test('finds e, c and d where the key set gives them other names', async () => {
    keep(await setUpChip(renamed, uidOfRenamed))
    const chip = (await emulator('read', '--json')).json() as Record<string, string>
    expect(chip.url).toContain(`?ks=104&enc=${chip.e}&mac=${chip.c}`)
    expect(chip.d).toBe('104')
  })

  test('of a blank chip, which is kept for the next command, everything is null', async () => {
    const ran = await emulator('read', '--json')
    expect(ran.json()).toEqual({
      reader: 'emulator',
      family: 'ntag424',
      url: null,
      e: null,
      c: null,
      d: null,
    })
    expect(ran.code).toBe(0)
    expect(ran.stderr).toContain('tapchip nfc provision')
    const before = kept().memory.uid
    await emulator('read')
    expect(kept().memory.uid).toEqual(before)
  })

  test('of a file that holds no card says so, and does not overwrite it', async () => {
    mkdirSync(dirname(file()), { recursive: true })
    writeFileSync(file(), '{}')
    const ran = await emulator('read')
    expect([ran.code, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr).toContain('does not contain an emulated card')
    expect(readFileSync(file(), 'utf8')).toBe('{}')
  })
})

describe('nfc verify', () => {
  test('prints the same, and what the daemon says: each tap is valid once', async () => {
    keep(await setUpChip(derived, uids.jacket))
    const ran = await emulator('verify', '--json')
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    expect(ran.json()).toMatchObject({
      reader: 'emulator',
      family: 'ntag424',
      url: isUrl,
      d: '101',
      uid: '1370400024739904',
      isValidTap: true,
    })
    const { url } = ran.json() as { url: string }
    expect((await here.run('chips', 'find', url, '--json')).json()).toMatchObject({ isValidTap: false })
    const again = await emulator('verify')
    expect(again.code).toBe(0)
    expect(again.stdout).toMatch(/UID: +1370400024739904 \(04:DE:5F:1E:AC:C0:40\)\nValid tap: +yes/)
    expect(again.stderr).toContain('genuine')
  })

  test('passes on all parameters, since the daemon knows their names', async () => {
    keep(await setUpChip(renamed, uidOfRenamed))
    expect((await emulator('verify', '--json')).json()).toMatchObject({ isValidTap: true, d: '104' })
  })

  test('exits with 1 for a tap that is not valid, and tells why where it may know', async () => {
    // Set up a second time: its counter begins again.
    keep(await setUpChip(derived, uids.twin))
    expect((await emulator('verify')).code).toBe(0)
    keep(await setUpChip(derived, uids.twin))
    const ran = await emulator('verify', '--json')
    expect(ran.code).toBe(1)
    expect(ran.json()).toMatchObject({ uid: '1301068039263120', isValidTap: false })

    keep(await setUpChip(derived, uids.twin))
    const unprivileged = await emulator('verify')
    expect(unprivileged.stderr).toContain('It has a wrong key, or is an old tap or of a disabled chip')
    here.env.TAPCHIP_ADMIN_TOKEN = daemon.adminToken
    const reason = (chip: Parameters<typeof setUpChip>[0]) =>
      expect.poll(async () => {
        keep(await setUpChip(chip, uids.twin))
        return (await emulator('verify')).stderr
      })
    await reason(derived).toContain('The tap was used before, or is an old one: its counter is 1')
    await reason({ ...derived, fileReadKey: plain.fileReadKey }).toContain('not signed with the keys')
  })

  test('counts as a tap of set-up for a token that may set chips up, and as one of an app for others', async () => {
    const viaNewest = async () => {
      const taps = await here.run('taps', 'list', '--uid', uids.jacket, '--limit', '1', '--json')
      return (taps.json() as { via: string }[])[0]?.via
    }
    const verified = async (token: string) => {
      here.env.TAPCHIP_ADMIN_TOKEN = token
      const chip = await setUpChip(derived, uids.jacket)
      chip.memory.sdmReadCounter = nextCounter += 100
      keep(chip)
      expect((await emulator('verify', '--json')).json()).toMatchObject({ isValidTap: true })
      here.env.TAPCHIP_ADMIN_TOKEN = daemon.adminToken
      return viaNewest()
    }
    let nextCounter = 1_000
    here.env.TAPCHIP_ADMIN_TOKEN = daemon.adminToken
    const reader = await here.run('admin-tokens', 'create', '--name', 'reader', '--scope', 'read', '--json')
    const { token } = reader.json() as { token: string }
    expect(await verified(daemon.adminToken)).toBe('setup')
    expect(await verified(token)).toBe('find')
    const counts = async (...args: string[]) =>
      (await here.run('taps', 'stats', '--by', 'outcome', '--json', ...args)).json() as { taps: number }[]
    const [[apps], [all]] = [await counts(), await counts('--include-setup')]
    expect((all?.taps ?? 0) - (apps?.taps ?? 0)).toBeGreaterThanOrEqual(1)
  })

  test('of a chip that the daemon does not know has no uid', async () => {
    keep(await setUpChip({ ...derived, id: 999 }, uids.twin))
    const ran = await emulator('verify', '--json')
    expect(ran.code).toBe(1)
    expect(ran.json()).toMatchObject({ d: '999', uid: null, isValidTap: false })
    expect((await emulator('verify')).stderr).toContain('No chip here made this tap')
  })

  test('of a blank chip asks nobody', async () => {
    const ran = await emulator('verify', '--json')
    expect([ran.code, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr).toContain('blank')
  })

  test('without a daemon exits with 5', async () => {
    keep(await setUpChip(derived, uids.jacket))
    expect((await emulator('verify', '--url', 'http://127.0.0.1:1')).code).toBe(5)
  })

  test('as a dry run shows the request, and the tap stays good', async () => {
    const chip = await setUpChip(derived, uids.unminted)
    keep(chip)
    const dry = await emulator('verify', '--dry-run', '--json')
    expect(dry.code).toBe(0)
    const { url } = dry.json() as { url: string }
    expect(await (await fetch(url)).json()).toMatchObject({ isValidTap: true })
  })
})

describe('nfc watch', () => {
  test('prints a line a tap; Ctrl-C ends it with 130', async () => {
    keep(await setUpChip(derived, uids.jacket))
    const ran = await here.interruptedRun(
      (stdout) => stdout.includes('\n'),
      ...['nfc', 'watch', '--reader', 'emulator', '--json'],
    )
    expect(ran.code).toBe(130)
    expect(ran.lines()).toEqual([expect.objectContaining({ reader: 'emulator', url: isUrl, d: '101' })])
  })

  test('--count lays the kept card down so often, a count each', async () => {
    keep(await setUpChip(derived, uids.jacket))
    const ran = await emulator('watch', '--count', '3', '--json')
    expect(ran.code).toBe(0)
    expect(new Set(ran.lines().map((line) => (line as { e: string }).e)).size).toBe(3)
    expect(kept().memory.sdmReadCounter).toBe(3)
  })

  test('--verify hands each tap to the daemon', async () => {
    keep(await setUpChip(derived, uids.blank))
    const ran = await emulator('watch', '--count', '2', '--verify', '--json')
    expect(ran.code).toBe(0)
    const valid = { uid: expect.stringMatching(/^\d+$/), isValidTap: true, url: isUrl }
    expect(ran.lines()).toEqual([expect.objectContaining(valid), expect.objectContaining(valid)])
    expect((await emulator('watch', '--count', '1', '--verify')).stdout).toMatch(
      /^emulator\tntag424\tvalid\t/,
    )
  })

  test('--verify goes on where there is no verdict, and says so', async () => {
    keep(await setUpChip(derived, uids.jacket))
    const args = ['--count', '2', '--verify', '--json', '--url', 'http://127.0.0.1:1'] as const
    const ran = await emulator('watch', ...args)
    expect(ran.code).toBe(0)
    const none = { uid: null, isValidTap: null, error: expect.stringContaining('not reachable'), url: isUrl }
    expect(ran.lines()).toEqual([expect.objectContaining(none), expect.objectContaining(none)])
  })

  test('--timeout ends it with 6 when no chip comes for so long', async () => {
    const ran = await emulator('watch', '--timeout', '0.05')
    expect(ran.code).toBe(6)
    expect(ran.stderr).toContain('No card was put on the reader')
  })
})

test('nfc readers knows the emulator when it is asked for', async () => {
  expect((await emulator('readers', '--json')).json()).toEqual([{ name: 'emulator', state: 'present' }])
  expect((await emulator('readers')).stdout).toContain('emulator\tpresent')
})
