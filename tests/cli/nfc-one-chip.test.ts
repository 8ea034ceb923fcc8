import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createClient } from '../../src/cli/client/client.ts'
import type { Client } from '../../src/cli/client/types.ts'
import { forwardApdus, type Order } from '../../src/cli/nfc/forward-apdus.ts'
import { CardGone } from '../../src/nfc/card.ts'
import type { TearOff } from '../../src/nfc/emulator/card.ts'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { executable } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { Chip, inA, nfcSeed, noStop } from '../support/nfc.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let client: Client
let at: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: nfcSeed })
  client = createClient({ url: daemon.url, adminToken: () => daemon.adminToken })
})
afterAll(async () => {
  client.close()
  await daemon.stop()
})
beforeEach(() => {
  at = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterEach(() => at.remove())

const nfc = (...args: string[]) => at.run('nfc', ...args, '--reader', 'emulator', '--timeout', '1')
const file = () => join(at.home, '.local/state/tapchip/emulator.json')
/** Leaves a chip on the emulated reader. */
const put = (chip: Chip) => {
  mkdirSync(join(at.home, '.local/state/tapchip'), { recursive: true })
  writeFileSync(file(), JSON.stringify(chip.chip.toJSON()))
}
const versions = () =>
  VirtualNtag424.fromJSON(JSON.parse(readFileSync(file(), 'utf8'))).memory.keys.map((slot) => slot.version)

const run = async (chip: Chip, order: Order, tear?: TearOff) => {
  const card = chip.put(tear)
  await forwardApdus(client, card, order, { stop: noStop() }).finally(() => card.lift())
}
const torn = async (order: Order = inA) => {
  const chip = new Chip()
  await expect(run(chip, order, { apdu: 16, when: 'after' })).rejects.toThrow(CardGone)
  put(chip)
  return chip
}

/** Runs the built CLI on a terminal of its own, and types an answer once it is asked. */
const onTerminal = (command: string, typed: string) =>
  new Promise<{ code: number | null; screen: string }>((resolve) => {
    const child = spawn('script', ['-qec', `'${process.execPath}' '${executable}' ${command}`, '/dev/null'], {
      env: { PATH: process.env.PATH ?? '', TERM: 'xterm', SHELL: '/bin/sh', ...at.env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let screen = ''
    let isAnswered = false
    child.stdout.on('data', (chunk) => {
      screen += String(chunk)
      if (isAnswered || !/type its UID/.test(screen)) return
      isAnswered = true
      child.stdin.write(`${typed}\r`)
    })
    child.on('close', (code) => resolve({ code, screen }))
  })

describe('nfc recover', () => {
  test('finishes a chip that was lifted too early, from nothing but the chip', async () => {
    const chip = await torn()
    const listed = (await at.run('nfc', 'recover', '--list', '--json')).json()
    expect(listed).toMatchObject([{ uid: chip.uid, purpose: 'provision' }])
    const ran = await nfc('recover', '--json')
    expect(ran.code).toBe(0)
    expect(ran.lines()).toEqual([{ uid: chip.uid, status: 'provisioned' }])
    expect(versions()).toEqual([1, 1, 1, 1, 1])
    expect((await at.run('nfc', 'recover', '--list', '--json')).json()).toEqual([])
    expect((await at.run('nfc', 'recover', '--list')).stderr).toContain('There are no unfinished chips')
    expect((await nfc('recover', '--json')).lines()).toEqual([{ uid: chip.uid, status: 'provisioned' }])
  })

  test('ends a reset in the state of the factory', async () => {
    const chip = new Chip()
    await run(chip, inA)
    await expect(run(chip, { purpose: 'reset' }, { apdu: 16, when: 'after' })).rejects.toThrow(CardGone)
    put(chip)
    expect((await nfc('recover', '--json')).lines()).toEqual([{ uid: chip.uid, status: 'factory' }])
    expect(versions()).toEqual([0, 0, 0, 0, 0])
  })

  test('of a chip that nothing was begun on is a failure that says so', async () => {
    put(new Chip())
    const ran = await nfc('recover', '--json')
    expect(ran.code).toBe(1)
    expect(ran.lines()).toMatchObject([
      { status: 'failed', error: expect.stringContaining('nothing to recover') },
    ])
    const forPeople = await nfc('recover')
    expect(forPeople.stderr).toContain('nothing to recover')
  })
})

describe('nfc recover --give-up', () => {
  const open = (uid: string) => client.call('GET /admin/nfc/journal', { query: { uid } })

  test('forgets the plan of a chip that is lost, once somebody says so', async () => {
    const { uid } = await torn()
    const refused = await at.run('nfc', 'recover', '--give-up', uid, '--json')
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')])
    expect(refused.stderr).toContain('can no longer be set up or reset')
    expect(await open(uid)).toHaveLength(1)
    const ran = await at.run('nfc', 'recover', '--give-up', uid, '--yes', '--json')
    expect([ran.code, ran.lines()]).toEqual([0, [{ uid, status: 'given-up' }]])
    expect(await open(uid)).toEqual([])
    expect((await at.run('nfc', 'recover', '--give-up', uid, '--yes')).code).toBe(1)
    expect((await at.run('nfc', 'recover', '--give-up', 'x', '--yes')).code).toBe(2)
  })

  test('on a terminal asks for the UID', async () => {
    const { uid } = await torn()
    const kept = await onTerminal(`nfc recover --give-up ${uid}`, 'y')
    expect([kept.code, kept.screen]).toEqual([2, expect.stringContaining('Nothing was changed')])
    expect(await open(uid)).toHaveLength(1)
    expect((await onTerminal(`nfc recover --give-up ${uid}`, uid)).code).toBe(0)
    expect(await open(uid)).toEqual([])
  })
})

test('nfc recover warns where the row of the chip went to another meanwhile', async () => {
  const order = { ...inA, label: 'Given away' }
  await torn(order)
  const lifted = readFileSync(file(), 'utf8')
  const other = new Chip()
  await run(other, order)
  writeFileSync(file(), lifted)
  const ran = await nfc('recover')
  expect(ran.code).toBe(0)
  expect(ran.stderr).toContain(`"Given away" was given to the chip ${other.uid}`)
})

describe('nfc reset', () => {
  test('takes a chip back to the factory', async () => {
    const chip = new Chip()
    await run(chip, inA)
    put(chip)
    const refused = await nfc('reset', '--json')
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('--yes')
    expect(versions()).toEqual([1, 1, 1, 1, 1])
    const ran = await nfc('reset', '--yes', '--json')
    expect(ran.code).toBe(0)
    expect(ran.lines()).toEqual([{ uid: chip.uid, status: 'factory' }])
    expect(versions()).toEqual([0, 0, 0, 0, 0])
  })

  test('on a terminal asks for the UID of the chip that lies there, and anything else changes nothing', async () => {
    const chip = new Chip()
    await run(chip, inA)
    put(chip)
    const kept = await onTerminal('nfc reset --reader emulator', 'y')
    expect([kept.code, kept.screen]).toEqual([2, expect.stringContaining('Nothing was changed')])
    expect(versions()).toEqual([1, 1, 1, 1, 1])
    expect((await client.call('GET /admin/nfc/journal', { query: { uid: chip.uid } })).length).toBe(0)
    expect((await onTerminal('nfc reset --reader emulator', chip.uid)).code).toBe(0)
    expect(versions()).toEqual([0, 0, 0, 0, 0])
  })

  test('says that the chip is still registered', async () => {
    const chip = new Chip()
    await run(chip, inA)
    put(chip)
    const ran = await nfc('reset', '--yes')
    expect(ran.stdout).toMatch(/\(04:.*\) {2}factory\n$/)
    expect(ran.stderr).toContain(`tapchip chips remove ${chip.uid}`)
  })

  test('of a torn chip frees it', async () => {
    await torn()
    expect((await nfc('reset', '--yes', '--json')).lines()).toMatchObject([{ status: 'factory' }])
    expect(versions()).toEqual([0, 0, 0, 0, 0])
  })

  test('of a chip with keys of another system fails, and tries none', async () => {
    const chip = new Chip()
    for (const slot of chip.chip.memory.keys) Object.assign(slot, { key: Buffer.alloc(16, 5), version: 3 })
    put(chip)
    const ran = await nfc('reset', '--yes', '--json')
    expect(ran.code).toBe(1)
    expect(ran.lines()).toMatchObject([{ uid: chip.uid, status: 'failed' }])
    const { memory } = VirtualNtag424.fromJSON(JSON.parse(readFileSync(file(), 'utf8')))
    expect(memory.failedAuthentications).toBe(0)
  })

  test('needs a token, and no session for a dry run', async () => {
    put(new Chip())
    expect((await nfc('reset', '--dry-run', '--json')).lines()).toMatchObject([
      { dryRun: true, body: { purpose: 'reset' } },
    ])
    at.env.TAPCHIP_ADMIN_TOKEN = ''
    expect((await nfc('reset', '--yes')).code).toBe(4)
  })
})

describe('nfc selftest', () => {
  test('writes a transcript without secrets that the virtual chip replays, and needs no daemon', async () => {
    at.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    const ran = await nfc('selftest', '--output', 'transcript.jsonl', '--json')
    expect(ran.stderr).toBe('')
    expect(ran.code).toBe(0)
    expect(ran.json()).toMatchObject({ passed: true, output: 'transcript.jsonl' })
    const path = join(at.home, 'transcript.jsonl')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const text = readFileSync(path, 'utf8')
    const { uid } = VirtualNtag424.fromJSON(JSON.parse(readFileSync(file(), 'utf8'))).memory
    expect(text).not.toContain(uid.toString('hex').toUpperCase())
    expect(versions()).toEqual([0, 0, 0, 0, 0])

    const replayed = await at.run('nfc', 'selftest', '--replay', 'transcript.jsonl', '--json')
    expect(replayed.json()).toEqual([])
    expect(replayed.code).toBe(0)
  })

  test('says where a transcript differs from the virtual chip', async () => {
    await nfc('selftest', '--output', 'transcript.jsonl')
    const path = join(at.home, 'transcript.jsonl')
    writeFileSync(path, readFileSync(path, 'utf8').replace('"answer":"6A82"', '"answer":"6D00"'))
    const replayed = await at.run('nfc', 'selftest', '--replay', 'transcript.jsonl')
    expect(replayed.code).toBe(1)
    expect(replayed.stdout).toContain('6D00')
  })

  test('refuses a chip that is not blank, a file that is no transcript, and neither flag', async () => {
    const chip = new Chip()
    await run(chip, inA)
    put(chip)
    const ran = await nfc('selftest', '--output', 'transcript.jsonl')
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('nfc reset')
    expect(versions()).toEqual([1, 1, 1, 1, 1])
    writeFileSync(join(at.home, 'other.txt'), 'hello\n')
    const bad = await at.run('nfc', 'selftest', '--replay', 'other.txt')
    expect(bad.code).toBe(2)
    expect(bad.stderr).toContain('line 1')
    expect((await at.run('nfc', 'selftest', '--replay', 'none.txt')).code).toBe(2)
    expect((await at.run('nfc', 'selftest')).code).toBe(2)
  })
})
