import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Running, spawnCli } from '../support/cli-process.ts'
import { Chip, nfcSeed } from '../support/nfc.ts'
import { type BoxLine, Hands } from '../support/pcsc/hands.ts'
import { openPcscd } from '../support/pcsc/opened.ts'
import { emulated } from '../support/pcsc/vpcd.ts'
import { spawnDaemon } from '../support/process.ts'

// A box of chips during which everything around it dies, each thing in the middle of a chip.

const chipsInBox = 20
/** In the order in which they are killed, each so many commands to chips after the last. */
const victims = ['daemon', 'pcscd', 'cli', 'daemon', 'pcscd', 'cli', 'daemon', 'pcscd', 'cli'] as const
const commandsBetween = 61

test('a box of 20 during which daemon, pcscd and CLI are each killed three times: 20 done, one resume for each kill of the CLI', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-kills-'))
  const token = 'adm_box-kills-test-0123456789'
  const settings = { TAPCHIP_ADMIN_TOKEN: token, TAPCHIP_RATE_LIMIT: 'off', TAPCHIP_DEV_CHAIN: 'off' }
  const dataDir = join(home, 'data')
  writeFileSync(join(home, 'seed.json'), JSON.stringify(nfcSeed))
  const start = (port: string, ...more: string[]) =>
    spawnDaemon(['--data-dir', dataDir, '--port', port, '--log-level', 'error', ...more], settings)
  let daemon = await start('0', '--seed', join(home, 'seed.json'))
  const { url } = daemon.ready
  const pcscd = await openPcscd(t)
  let running: Running | undefined
  t.onTestFinished(async () => {
    running?.child.kill('SIGKILL')
    await running?.ended
    await daemon.kill()
    rmSync(home, { recursive: true })
  })
  const labels = Array.from({ length: chipsInBox }, (_, i) => `K-${i + 1}`)
  writeFileSync(join(home, 'labels.csv'), `label\n${labels.join('\n')}\n`)
  const { PCSCLITE_CSOCK_NAME = '' } = pcscd.env
  const env = { HOME: home, PCSCLITE_CSOCK_NAME, TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: token }
  const nfc = (...args: string[]) =>
    spawnCli(['nfc', 'provision', ...args, '--reader', 'all', '--json'], env, home)

  const left = [...victims]
  const killed: string[] = []
  let commands = 0
  /** Outside a command of a chip: what died is brought back. */
  let revive: (() => Promise<void>) | undefined
  let dying: Promise<void> | undefined
  const kill = async (victim: (typeof victims)[number]): Promise<void> => {
    killed.push(victim)
    if (victim === 'daemon') {
      await daemon.kill()
      revive = async () => {
        daemon = await start(new URL(url).port)
      }
    } else if (victim === 'pcscd') {
      await pcscd.kill()
      revive = async () => {
        await pcscd.start()
        await hands.lay()
      }
    } else {
      running?.child.kill('SIGKILL')
      await running?.ended
    }
  }
  const chips = Array.from({ length: chipsInBox }, () => new Chip())
  const hands = new Hands(pcscd, chips, ({ chip }) => ({
    ...emulated(chip),
    transmit: async (apdu) => {
      commands += 1
      await dying
      const answer = chip.process(apdu)
      const victim = left[killed.length]
      if (victim === undefined || commands < commandsBetween * (killed.length + 1)) return answer
      dying = kill(victim)
      await dying
      return answer
    },
  }))

  const lines: BoxLine[] = []
  const stderrs: string[] = []
  let id: string | undefined
  let resumes = 0
  await hands.lay()
  for (;;) {
    running =
      id === undefined
        ? nfc(
            '--key-set',
            '201',
            '--chip-group',
            'Jackets',
            '--team',
            'Acme',
            '--accept-url',
            '--allow-unsigned',
            '--file',
            'labels.csv',
          )
        : nfc('--resume', id)
    const now = running
    let isOver = false
    const over = now.ended.then((code) => {
      isOver = true
      return code
    })
    for (let seen = 0; ; ) {
      const told = () => now.stdout().split('\n').length - 1
      await Promise.race([
        over,
        now.until(() => told() > seen || revive !== undefined).catch(() => undefined),
        dies(),
      ])
      if (revive) {
        const again = revive
        revive = undefined
        await again()
      }
      if (told() > seen) {
        const line: BoxLine = JSON.parse(now.stdout().split('\n')[seen] ?? '')
        seen += 1
        lines.push(line)
        await hands.take(line)
      } else if (isOver) break
    }
    id ??= /b_\w+/.exec(now.stderr())?.[0]
    stderrs.push(now.stderr())
    const code = await over
    if (code !== 'SIGKILL') {
      expect([code, now.stderr()]).toEqual([0, expect.stringContaining('20 chips of 20 done')])
      break
    }
    resumes += 1
  }
  expect(killed).toEqual(victims)
  expect(resumes).toBe(3)
  for (const chip of chips) expect(chip.versions).toEqual([1, 1, 1, 1, 1])
  const registered = await Promise.all(
    chips.map(async ({ uid }) => {
      const answer = await fetch(`${url}/admin/chips/${uid}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return ((await answer.json()) as { label: string }).label
    }),
  )
  expect(registered.sort()).toEqual([...labels].sort())
  expect(stderrs.join('').match(/Daemon not reachable.*Waiting for it/g)).toHaveLength(3)

  /** Resolves at the next death. */
  async function dies(): Promise<void> {
    while (revive === undefined && running?.child.exitCode === null && running.child.signalCode === null)
      await new Promise((resolve) => setTimeout(resolve, 20))
  }
}, 120_000)
