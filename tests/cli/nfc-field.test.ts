import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { type Running, spawnCli } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { answersOf, Chip, inA, nfcSeed } from '../support/nfc.ts'
import { type BoxLine, Hands, lay } from '../support/pcsc/hands.ts'
import { openPcscd } from '../support/pcsc/opened.ts'
import { emulated } from '../support/pcsc/vpcd.ts'

// The built executable at several tables: several readers, several stations, sessions in each other's way.

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: nfcSeed })
})
afterAll(() => daemon.stop())

const wanted = ['--key-set', '201', '--chip-group', 'Jackets', '--team', 'Acme', '--accept-url']
const box = ['provision', ...wanted, '--allow-unsigned']

/** A station: a state directory of its own. */
const station = (t: Pick<TestContext, 'onTestFinished'>, more: Record<string, string> = {}) => {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-field-'))
  const env = { HOME: home, TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken, ...more }
  const all: Running[] = []
  t.onTestFinished(async () => {
    for (const { child, ended } of all) {
      child.kill('SIGKILL')
      await ended
    }
    rmSync(home, { recursive: true })
  })
  const nfc = (...args: string[]): Running => {
    const running = spawnCli(['nfc', ...args], env, home)
    all.push(running)
    return running
  }
  return { home, nfc, state: (file: string) => join(home, '.local/state/tapchip', file) }
}

/** Resolves once the daemon has begun to write to a chip. */
const daemonHolds = async ({ uid }: Chip): Promise<void> => {
  const headers = { authorization: `Bearer ${daemon.adminToken}` }
  for (;;) {
    const answer = await fetch(`${daemon.url}/admin/nfc/journal?uid=${uid}`, { headers })
    if (((await answer.json()) as unknown[]).length > 0) return
  }
}

const linesOf = (running: Running): BoxLine[] =>
  running
    .stdout()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

describe.concurrent('in the field', () => {
  test('--reader all works on four readers at once, and sets up exactly as many chips as were asked for', async (t) => {
    const pcscd = await openPcscd(t, { readers: 4 })
    const { PCSCLITE_CSOCK_NAME = '' } = pcscd.env
    const running = station(t, { PCSCLITE_CSOCK_NAME }).nfc(
      ...box,
      '--count',
      '6',
      '--reader',
      'all',
      '--json',
    )
    const chips = Array.from({ length: 8 }, () => new Chip())
    const hands = new Hands(pcscd, chips)
    await hands.lay()
    for (let seen = 0; seen < 6; seen += 1) {
      await running.until((stdout) => stdout.split('\n').length > seen + 1)
      const line = linesOf(running)[seen]
      if (line) await hands.take(line)
    }
    expect([await running.ended, running.stderr()]).toEqual([0, expect.stringContaining('6 chips of 6 done')])
    const lines = linesOf(running)
    expect(lines.map(({ status }) => status)).toEqual(Array(6).fill('provisioned'))
    expect(new Set(lines.map(({ reader }) => reader)).size).toBe(4)
    expect(chips.filter(({ versions }) => versions[0] === 1).map(({ uid }) => uid)).toHaveLength(6)
  })

  test('two stations share the rows of a sheet, and use each once', async (t) => {
    const sheet = `label\n${Array.from({ length: 12 }, (_, i) => `shared-${i + 1}`).join('\n')}\n`
    const [one, two] = [station(t), station(t)]
    for (const { home } of [one, two]) writeFileSync(join(home, 'sheet.csv'), sheet)
    const both = [one, two].map(({ nfc }) =>
      nfc(...box, '--file', 'sheet.csv', '--reader', 'emulator', '--json'),
    )
    for (const running of both)
      expect([await running.ended, running.stderr()]).toEqual([0, expect.anything()])
    const lines = both.flatMap(linesOf)
    expect(lines.filter(({ status }) => status === 'failed')).toEqual([])
    expect(lines.map(({ row }) => row).sort((a = 0, b = 0) => a - b)).toEqual(lines.map((_, i) => i + 1))
    expect(lines).toHaveLength(12)
    expect(both.map((running) => linesOf(running).length > 0)).toEqual([true, true])
    const [id, other] = [one, two].map(({ state }) => readFileSync(state('station'), 'utf8'))
    expect(id).toMatch(/^st_[0-9a-f]{24}\n$/)
    expect(id).not.toBe(other)
    expect(statSync(one.state('station')).mode & 0o777).toBe(0o600)
    // All rows are taken, so the same sheet begins anew; a run of it would not.
    const [batch] = /b_\w+/.exec(both[0]?.stderr() ?? '') ?? []
    const again = one.nfc('provision', '--resume', batch ?? '', '--reader', 'emulator')
    const ended = await again.ended
    expect([ended, again.stdout(), again.stderr()]).toEqual([0, '', expect.stringContaining('Nothing to do')])
  })

  test('SIGTERM finishes the chip; a client that is dead or silent holds nothing up', async (t) => {
    const pcscd = await openPcscd(t)
    const { PCSCLITE_CSOCK_NAME = '' } = pcscd.env
    const [one, two] = [station(t, { PCSCLITE_CSOCK_NAME }), station(t, { PCSCLITE_CSOCK_NAME })]
    const [left, right] = pcscd.readers
    /** Sets a chip up, and sends the command a signal at an APDU in the middle. */
    const signalled = async (chip: Chip, signal: NodeJS.Signals, again?: NodeJS.Signals) => {
      const running = one.nfc(...box, '--count', '2', '--reader', left, '--json')
      let sent = 0
      const card = await lay(pcscd, 0, {
        ...emulated(chip.chip),
        transmit: async (apdu) => {
          sent += 1
          if (sent === 15) {
            running.child.kill(signal)
            // The signal is there before the answer.
            if (again) {
              await running.until((_, stderr) => stderr.includes('Stopping'))
              running.child.kill(again)
            }
            if (signal === 'SIGKILL' || again) await running.ended
          }
          return chip.chip.process(apdu)
        },
      })
      return { running, card }
    }
    const [finished, killed, silent] = [new Chip(), new Chip(), new Chip()]
    const first = await signalled(finished, 'SIGTERM')
    expect([await first.running.ended, first.running.stderr()]).toEqual([
      130,
      expect.stringMatching(/Stopped: 1 of 2 are done\.\nContinue: tapchip nfc provision --resume b_/),
    ])
    expect(finished.versions).toEqual([1, 1, 1, 1, 1])
    first.card.remove()

    const impatient = await signalled(new Chip(), 'SIGINT', 'SIGINT')
    expect(await impatient.running.ended).toBe(130)
    expect(impatient.running.stderr()).toMatch(
      /Stopping: .*\nContinue: tapchip nfc provision --resume b_\w+\n$/,
    )
    impatient.card.remove()
    await impatient.card.removed

    const second = await signalled(killed, 'SIGKILL')
    expect(await second.running.ended).toBe('SIGKILL')
    second.card.remove()
    await second.card.removed
    const again = await lay(pcscd, 0, emulated(killed.chip))
    const recover = one.nfc('recover', '--reader', left, '--json')
    expect([await recover.ended, JSON.parse(recover.stdout())]).toEqual([
      0,
      { uid: killed.uid, status: 'provisioned' },
    ])
    expect(recover.stderr()).not.toContain('Another session')
    again.remove()

    await signalled(silent, 'SIGSTOP')
    await daemonHolds(silent)
    // The chip on another table's reader.
    await lay(pcscd, 1, emulated(silent.chip))
    const other = two.nfc('recover', '--reader', right, '--json')
    expect(await other.ended).toBe(0)
    expect(silent.versions).toEqual([1, 1, 1, 1, 1])
  })

  test('a chip whose row is held elsewhere waits on its reader, and gets the row that comes back', async (t) => {
    const pcscd = await openPcscd(t)
    const { PCSCLITE_CSOCK_NAME = '' } = pcscd.env
    const { home, nfc, state } = station(t, { PCSCLITE_CSOCK_NAME })
    writeFileSync(join(home, 'sheet.csv'), 'label\nheld-1\n')
    const running = nfc(...box, '--file', 'sheet.csv', '--reader', pcscd.readers[0])
    await running.until((_, stderr) => stderr.includes('put it on the reader'))
    const post = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${daemon.adminToken}`, 'content-type': 'application/json' }
      const answer = await fetch(daemon.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await answer.json()) as { id: string; step: number; next: { apdus: string[] } }
    }
    // Another station whose chip has been looked at, and nothing more.
    const [, id] = /Batch (b_\w+)/.exec(running.stderr()) ?? []
    const header = readFileSync(state(`batches/${id}.jsonl`), 'utf8').split('\n')[0] ?? ''
    const run = Number(JSON.parse(header).settings.sheetRun)
    const order = { ...inA, originality: 'any', waitForDetails: true, sheet: { run }, station: 'other' }
    let held = await post('/admin/nfc/sessions', order)
    const answers = await answersOf(new Chip().put(), held.next.apdus)
    held = await post(`/admin/nfc/sessions/${held.id}/answers`, { step: held.step, answers })
    expect(held.next).toMatchObject({ type: 'inspected', row: 1 })
    const chip = new Chip()
    await lay(pcscd, 0, emulated(chip.chip))
    await running.until((_, stderr) => stderr.includes('Waiting for a row'))
    const headers = { authorization: `Bearer ${daemon.adminToken}` }
    await fetch(`${daemon.url}/admin/nfc/sessions/${held.id}`, { method: 'DELETE', headers })
    expect([await running.ended, running.stdout()]).toEqual([
      0,
      expect.stringContaining('provisioned  row 1 (held-1)'),
    ])
    expect(chip.versions).toEqual([1, 1, 1, 1, 1])
  })
})
