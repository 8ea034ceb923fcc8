import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/io/text.ts'
import { drawScreen, type Panel, type Screen } from '../../src/cli/nfc/board-screen.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { nfcSeed } from '../support/nfc.ts'

const panel = (reader: string, state: Panel['state'], chip = 'J-17'): Panel => ({
  reader,
  state,
  chip,
  text: 'Put it down',
})
const screen = (panels: readonly Panel[]): Screen => ({
  panels,
  count: '3/5,000',
  totals: '3 provisioned',
  message: 'Hello',
})
const at = { width: 80, height: 24, color: false, unicode: true }
// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern matches them.
const plain = (line: string): string => line.replace(/\x1b\[[\d;?]*[A-Za-z]/g, '')

describe('the screen', () => {
  const four = screen(['A', 'B', 'C', 'D'].map((name) => panel(name, 'READY')))

  test.each([
    [80, 24],
    [79, 25],
    [200, 60],
    [40, 10],
    [20, 5],
  ])('fills %i × %i exactly, with one to nine readers', (width, height) => {
    for (let readers = 0; readers <= 9; readers += 1)
      for (const color of [true, false]) {
        const panels = Array.from({ length: readers }, (_, at) => panel(`Reader ${at}`, 'FAILED', '衣服-17'))
        const lines = drawScreen(screen(panels), { ...at, width, height, color }).map(plain)
        expect(lines.length).toBe(height)
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
      }
  })

  test('draws each word in letters of five lines at least, and says it in words where they do not fit', () => {
    const lines = drawScreen(four, at).join('\n')
    // The upper edge of READY, twice beside each other and twice below.
    expect(lines.match(/████ {2}█████ {2}███ {2}████ {2}█ {3}█/g)).toHaveLength(4)
    expect(drawScreen(four, { ...at, unicode: false }).join('')).not.toMatch(/█/)
    expect(drawScreen(four, { ...at, width: 30, height: 12 }).join('')).toContain('READY')
  })

  test('has one color a state, and none without colors', () => {
    const states = ['READY', 'HOLD', 'DONE', 'FAILED', 'WAIT', 'GONE'] as const
    const of = (state: Panel['state']) => drawScreen(screen([panel('A', state)]), { ...at, color: true })[0]
    expect(new Set(states.map((state) => /\[1;(\d+)/.exec(of(state) ?? '')?.[1])).size).toBe(6)
    expect(drawScreen(four, at).join('')).not.toContain('\x1b')
  })

  test('shows control characters of a label, and obeys none', () => {
    const hostile = screen([panel('\x1b[31mA', 'DONE', '\x1b]0;owned\x07')])
    const shown = drawScreen(hostile, at).join('\n')
    for (const control of ['\x1b', '\x07']) expect(shown).not.toContain(control)
    expect(shown).toContain('\\u001b]0;owned')
  })
})

describe('nfc provision --board', () => {
  let daemon: Awaited<ReturnType<typeof startTestDaemon>>
  let home: CliHome
  beforeAll(async () => {
    daemon = await startTestDaemon({ seed: nfcSeed })
  })
  afterAll(() => daemon.stop())
  beforeEach(() => {
    home = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
    home.hasTerminal = true
  })
  afterEach(() => home.remove())

  const args = [
    'nfc',
    'provision',
    '--key-set',
    '201',
    '--chip-group',
    'Jackets',
    '--team',
    'Acme',
    '--accept-url',
  ]
  const onEmulator = [...args, '--reader', 'emulator', '--board']
  const [enter, leave] = ['\x1b[?1049h', '\x1b[?1049l']
  /** Standard error on the board, and after it. */
  const parts = (stderr: string) => {
    const [before = '', rest = ''] = stderr.split(enter)
    const [shown = '', after = '', ...more] = rest.split(leave)
    expect(more).toEqual([])
    return { before, shown: plain(shown), after }
  }

  test('shows each chip on the board, its line where the output goes, and the sum when it is over', async () => {
    const ran = await home.run(...onEmulator, '--count', '3', '--json')
    expect(ran.code).toBe(0)
    expect(ran.lines()).toHaveLength(3)
    const { before, shown, after } = parts(ran.stderr)
    expect(before).toMatch(/Batch b_/)
    for (const text of [
      'Put a chip on the reader',
      'Leave it there',
      'Take it off',
      '2 provisioned · 0 failed · 1 left',
    ])
      expect(shown).toContain(text)
    expect(after).toMatch(/emulator: 04:.* {2}done\n/)
    expect(after).toMatch(/3 chips of 3 done: 3 provisioned/)
  })

  test('gives the terminal back when it is interrupted, and says how to go on', async () => {
    const ran = await home.interruptedRun(
      (_, stderr) => stderr.includes('Take it off'),
      ...onEmulator,
      '--count',
      '50',
      '--quiet',
    )
    expect(ran.code).toBe(130)
    expect(parts(ran.stderr).after).toMatch(/Continue: tapchip nfc provision .*--resume b_/)
  })

  test('shows why a chip failed, and prints it again afterwards', async () => {
    home.env.TAPCHIP_EMULATOR = 'clone'
    const ran = await home.run(...onEmulator, '--count', '1', '--timeout', '1')
    const { shown, after } = parts(ran.stderr)
    expect(ran.code).not.toBe(0)
    expect(shown).toContain('--allow-unsigned')
    expect(after).toContain('--allow-unsigned')
  })

  test('is refused where there is no terminal, and where lines would go through it', async () => {
    home.hasTerminal = false
    const ran = await home.run(...onEmulator, '--count', '1')
    expect([ran.code, ran.stdout]).toEqual([2, ''])
    expect(ran.stderr).toContain('--board needs a terminal')
  })
})
