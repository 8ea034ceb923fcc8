import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { executable, type Running, spawnCli } from '../support/cli-process.ts'
import { openPcscd } from '../support/pcsc/opened.ts'
import { emulated } from '../support/pcsc/vpcd.ts'
import { derived, uids } from '../support/seeds.ts'
import { setUpChip } from '../support/set-up-chip.ts'
import { VirtualHalo } from '../support/virtual-halo.ts'

type Test = Pick<TestContext, 'onTestFinished'>

function folder(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-nfc-'))
  t.onTestFinished(() => rmSync(home, { recursive: true }))
  return home
}

function watch(t: Test, socket: string | undefined, ...args: string[]): Running {
  const home = folder(t)
  const env = { HOME: home, PCSCLITE_CSOCK_NAME: socket ?? '' }
  const running = spawnCli(['nfc', 'watch', ...args], env, home)
  t.onTestFinished(async () => {
    running.child.kill('SIGKILL')
    await running.ended
  })
  return running
}

const lines = (text: string) => text.split('\n').filter((line) => line !== '')
const until = (running: Running, count: number) => running.until((stdout) => lines(stdout).length >= count)

/** CPU time of a process so far, in milliseconds. Linux counts in hundredths. */
const cpuMs = (pid: number | undefined): number => {
  const after = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(after[11]) + Number(after[12])) * 10
}

// One after another, and before all others: work is measured.
describe('without pcscd', () => {
  test.each([['readers'], ['read'], ['watch'], ['verify']])(
    'nfc %s: exit 6 with advice, less than two seconds after it started, and nothing spins',
    async (verb) => {
      const home = mkdtempSync(join(tmpdir(), 'tapchip-nfc-'))
      // A busy machine takes its time to start any command.
      const first = performance.now()
      await once(spawn(process.execPath, [executable, '--version'], { stdio: 'ignore' }), 'close')
      const begun = performance.now()
      // `times`: what the shell's children used.
      const script = '"$@"; code=$?; times >&2; exit $code'
      const child = spawn('sh', ['-c', script, 'sh', process.execPath, executable, 'nfc', verb], {
        env: { PATH: process.env.PATH, HOME: home, PCSCLITE_CSOCK_NAME: join(home, 'pcscd.comm') },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let stderr = ''
      child.stderr.on('data', (chunk) => {
        stderr += String(chunk)
      })
      const [code] = await once(child, 'close')
      expect(performance.now() - begun).toBeLessThan(begun - first + 2_000)
      rmSync(home, { recursive: true })
      expect(code).toBe(6)
      expect(stderr).toContain(
        'pcscd, the service for card readers, is not running.\nStart it: systemctl start',
      )
      const [user, system] = [...stderr.matchAll(/(\d+)m([\d.]+)s/g)]
        .slice(2)
        .map(([, m, s]) => 60 * Number(m) + Number(s))
      expect((user ?? 99) + (system ?? 99)).toBeLessThan(1)
    },
  )

  test('nfc watch does not spin while pcscd is away', async (t) => {
    const pcscd = await openPcscd(t)
    const watching = watch(t, pcscd.env.PCSCLITE_CSOCK_NAME)
    await watching.until((_, stderr) => stderr.includes('00 01'))
    await pcscd.kill()
    await watching.until((_, stderr) => stderr.includes('continues as soon as it is back'))
    const before = cpuMs(watching.child.pid)
    // Time passes: that is what is measured.
    await new Promise((done) => setTimeout(done, 1_500))
    expect(cpuMs(watching.child.pid) - before).toBeLessThan(300)
  })
})

describe.concurrent('nfc watch through a real pcscd', () => {
  test('reads several readers at once, a line a tap, and ends with 130 at Ctrl-C', async (t) => {
    const pcscd = await openPcscd(t)
    const watching = watch(t, pcscd.env.PCSCLITE_CSOCK_NAME, '--json')
    await watching.until((_, stderr) => stderr.includes('Waiting for chips'))
    const chip = await setUpChip(derived, uids.jacket)
    const first = await pcscd.present(0, emulated(chip))
    const second = await pcscd.present(1, emulated(new VirtualHalo()))
    await until(watching, 2)
    first.remove()
    second.remove()
    const seen = lines(watching.stdout()).map(
      (line) => JSON.parse(line) as { reader: string; family: string },
    )
    expect(seen.sort((a, b) => (a.reader < b.reader ? -1 : 1))).toMatchObject([
      { reader: pcscd.readers[0], family: 'ntag424', d: '101' },
      { reader: pcscd.readers[1], family: 'halo' },
    ])
    expect(chip.memory.sdmReadCounter).toBe(1)
    watching.child.kill('SIGINT')
    expect(await watching.ended).toBe(130)
  })

  test('pcscd killed and started again: taps go on', async (t) => {
    const pcscd = await openPcscd(t)
    const watching = watch(t, pcscd.env.PCSCLITE_CSOCK_NAME, '--json')
    await watching.until((_, stderr) => stderr.includes('Waiting for chips'))
    const chip = await setUpChip(derived, uids.jacket)
    const first = await pcscd.present(0, emulated(chip))
    await until(watching, 1)
    await pcscd.kill()
    await first.removed
    await watching.until((_, stderr) => stderr.includes('continues as soon as it is back'))
    await pcscd.start()
    await watching.until((_, stderr) => stderr.includes('00 01 is back'))
    for (const [slot, count] of [
      [1, 2],
      [0, 3],
    ] as const) {
      const card = await pcscd.present(slot, emulated(chip))
      await until(watching, count)
      card.remove()
    }
    expect(chip.memory.sdmReadCounter).toBe(3)
    expect(watching.child.exitCode).toBe(null)
  })

  test('a card that is lifted too early, and one of no known kind, are told of; the next is read', async (t) => {
    const pcscd = await openPcscd(t)
    const watching = watch(t, pcscd.env.PCSCLITE_CSOCK_NAME, '--count', '1', '--json')
    await watching.until((_, stderr) => stderr.includes('Waiting for chips'))
    const chip = await setUpChip(derived, uids.jacket)
    let left = 3
    await pcscd.present(0, { transmit: (apdu) => (left-- > 0 ? chip.process(apdu) : undefined) })
    await watching.until((_, stderr) => stderr.includes('00 00: The card left the reader'))
    await pcscd.present(1, { transmit: () => Uint8Array.of(0x6a, 0x82) })
    await watching.until((_, stderr) => stderr.includes('00 01: The card is'))
    await pcscd.present(0, emulated(chip))
    expect(await watching.ended).toBe(0)
    expect(lines(watching.stdout())).toHaveLength(1)
  })

  test('--reader watches one alone', async (t) => {
    const pcscd = await openPcscd(t)
    const watching = watch(t, pcscd.env.PCSCLITE_CSOCK_NAME, '--reader', '00 01', '--count', '1', '--json')
    await watching.until((_, stderr) => stderr.includes('Waiting for chips'))
    let commands = 0
    const transmit = () => {
      commands += 1
      return Uint8Array.of(0x90, 0)
    }
    const other = await pcscd.present(0, { transmit })
    await other.powered
    await pcscd.present(1, emulated(new VirtualHalo()))
    expect(await watching.ended).toBe(0)
    expect(JSON.parse(watching.stdout())).toMatchObject({ reader: pcscd.readers[1] })
    expect(commands).toBe(0)
  })

  test('a reader that is plugged in later is watched', async (t) => {
    const pcscd = await openPcscd(t, { readers: false })
    const watching = watch(t, pcscd.env.PCSCLITE_CSOCK_NAME, '--count', '1', '--json')
    await watching.until((_, stderr) => stderr.includes('There is no NFC reader yet'))
    await pcscd.kill()
    pcscd.plugIn()
    await pcscd.start()
    await watching.until((_, stderr) => stderr.includes('Virtual PCD 00 01'))
    await pcscd.present(0, emulated(new VirtualHalo()))
    expect(await watching.ended).toBe(0)
  })
})
