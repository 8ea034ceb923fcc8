import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CliContext, createContext } from '../../src/cli/context.ts'
import { describeError } from '../../src/cli/errors.ts'
import { BoxFile } from '../../src/cli/nfc/box-file.ts'
import { runBox } from '../../src/cli/nfc/box-run.ts'
import type { BoxRun } from '../../src/cli/nfc/box-state.ts'
import { lines } from '../../src/cli/nfc/box-view.ts'
import { type ChipRow, RowsOfChips } from '../../src/cli/nfc/chip-rows.ts'
import { makeSessionRunner } from '../../src/cli/nfc/run-session.ts'
import { withStop } from '../../src/cli/nfc/stop.ts'
import type { CardReaders } from '../../src/nfc/card.ts'
import type { TearOff } from '../../src/nfc/emulator/card.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { Chip, inA, keySets, nfcSeed, noStop, openedOn, ScriptedReaders } from '../support/nfc.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let home: string
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: nfcSeed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'tapchip-box-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

class Text extends Writable {
  text = ''
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

interface Run {
  code: number
  lines: { uid: string | null; status: string; row?: number; error?: string }[]
  stderr: string
}

const rowsNamed = (prefix: string, count: number): ChipRow[] =>
  Array.from({ length: count }, (_, i) => ({ row: i + 1, label: `${prefix}-${i + 1}` }))

const context = (
  listen: (handler: (signal: NodeJS.Signals) => void) => () => void = () => () => undefined,
  { stdout = new Text(), stderr = new Text(), json = true } = {},
) => {
  const ctx: CliContext = createContext(
    {
      env: { HOME: home, TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken },
      home,
      cwd: home,
      stdin: Readable.from([]),
      stdout,
      stderr,
      now: () => new Date(),
      interrupts: { listen },
      atExit: () => () => undefined,
      daemonScript: () => '',
    },
    { json, quiet: false, color: false, input: false, dryRun: false },
  )
  return { ctx, stdout, stderr }
}

/** A box on readers, as the command runs it. */
const startBox = async (
  ctx: CliContext,
  readers: CardReaders,
  run: Partial<BoxRun> & Pick<BoxRun, 'count' | 'rows'>,
) => {
  const opened = openedOn(readers)
  const stop = run.stop ?? noStop()
  const carrier = await makeSessionRunner(ctx, opened, { stop })
  const fixed = {
    opened,
    runner: carrier,
    stop,
    view: lines(ctx),
    everyReader: false,
    file: undefined,
    id: undefined,
  }
  const order = { ...inA, originality: 'any' as const }
  return runBox(ctx, { ...fixed, order, isSingle: false, ...run })
}

/** Lays chips down one after another, as a person does. */
const box = async (
  script: readonly (Chip | { chip: Chip; tear: TearOff })[],
  {
    rows = [],
    count = rows.length,
    order = inA,
    isSingle = false,
  }: { rows?: ChipRow[]; count?: number; order?: object; isSingle?: boolean } = {},
): Promise<Run & { rows: RowsOfChips }> => {
  const { ctx, stdout, stderr } = context()
  const taken = new RowsOfChips(rows)
  const about = { url: daemon.url, total: count, input: { name: '', path: null, sha256: null }, settings: {} }
  const { file } = BoxFile.begin(ctx.system, new Date(), about)
  const sheet = rows.length > 0 ? { sheet: await joinSheet(rows) } : {}
  const code = await startBox(ctx, new ScriptedReaders(script), {
    order: { ...inA, originality: 'any', ...sheet, ...order },
    count,
    rows: taken,
    isSingle,
    file,
    id: 'b_1',
  }).catch((error: unknown) => {
    stderr.text += describeError(error).lines.join('\n')
    return describeError(error).exitCode
  })
  await ctx.io.flush()
  file.close()
  ctx.close()
  const lines = stdout.text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return { code, lines, stderr: stderr.text, rows: taken }
}

/** Rows of this content are shared by all boxes of it. */
const joinSheet = async (rows: readonly ChipRow[]): Promise<{ run: number }> => {
  const id = rows.map(({ label }) => label).join()
  const answer = await fetch(`${daemon.url}/admin/nfc/sheets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ team: inA.team, id, rows: rows.length }),
  })
  return (await answer.json()) as { run: number }
}

const admin = async (path: string) =>
  (
    await fetch(daemon.url + path, { headers: { authorization: `Bearer ${daemon.adminToken}` } })
  ).json() as Promise<Record<string, unknown>>
const labelOf = async (chip: Chip) => (await admin(`/admin/chips/${chip.uid}`)).label

const foreign = (): Chip => {
  const chip = new Chip()
  for (const slot of chip.chip.memory.keys) Object.assign(slot, { key: Buffer.alloc(16, 9), version: 1 })
  return chip
}

describe('rows and chips', () => {
  test('a chip that fails takes no row, whatever it fails of', async () => {
    const [a, b, c, torn] = [new Chip(), new Chip(), new Chip(), new Chip()]
    const script = [
      foreign(),
      a,
      { chip: torn, tear: { apdu: 15, when: 'after' } } as const,
      foreign(),
      b,
      { chip: new Chip(), tear: { apdu: 2, when: 'before' } } as const,
      c,
    ]
    const ran = await box(script, { rows: rowsNamed('A', 3) })
    expect(ran.lines.map(({ status }) => status)).toEqual([
      'failed',
      'provisioned',
      'failed',
      'failed',
      'provisioned',
      'failed',
      'provisioned',
    ])
    expect([await labelOf(a), await labelOf(b), await labelOf(c)]).toEqual(['A-1', 'A-2', 'A-3'])
    expect(ran.code).toBe(3)
    expect(ran.lines[2]).toMatchObject({ uid: torn.uid, error: expect.stringContaining('left the reader') })
  })

  test('a chip that was lifted and comes back is recovered and takes the row of that moment', async () => {
    const [a, b, c] = [new Chip(), new Chip(), new Chip()]
    const script = [{ chip: a, tear: { apdu: 17, when: 'after' } } as const, b, a, c]
    const ran = await box(script, { rows: rowsNamed('B', 3) })
    expect(ran.code).toBe(0)
    expect([await labelOf(b), await labelOf(a), await labelOf(c)]).toEqual(['B-1', 'B-2', 'B-3'])
  })

  test('a chip that is laid down again keeps its row, and does not count twice', async () => {
    const [a, b] = [new Chip(), new Chip()]
    const ran = await box([a, a, a, b], { rows: rowsNamed('C', 2) })
    expect(ran.lines.map(({ status, row }) => [status, row])).toEqual([
      ['provisioned', 1],
      ['unchanged', 1],
      ['unchanged', 1],
      ['provisioned', 2],
    ])
    expect(ran.code).toBe(0)
    expect(await labelOf(b)).toBe('C-2')
  })

  test('in a later run a chip that has a label of the sheet keeps that row', async () => {
    const [a, b, c] = [new Chip(), new Chip(), new Chip()]
    await box([a, b], { rows: rowsNamed('D', 3), count: 2 })
    const ran = await box([b, a, c], { rows: rowsNamed('D', 3) })
    expect(ran.lines.map(({ status, row }) => [status, row])).toEqual([
      ['unchanged', 2],
      ['unchanged', 1],
      ['provisioned', 3],
    ])
    expect([await labelOf(a), await labelOf(b), await labelOf(c)]).toEqual(['D-1', 'D-2', 'D-3'])
  })

  test('with --rekey a chip that is laid down again gets new keys once', async () => {
    const [a, b] = [new Chip(), new Chip()]
    await box([a, b], { count: 2 })
    const ran = await box([a, a, b], { count: 2, order: { rekey: true } })
    expect(ran.lines.map(({ status }) => status)).toEqual(['provisioned', 'unchanged', 'provisioned'])
    expect(a.versions).toEqual([2, 2, 2, 2, 2])
  })

  test('a chip of another key set is left untouched', async () => {
    const [theirs, ours] = [new Chip(), new Chip()]
    await box([theirs], { count: 1, order: { keySet: keySets.b.id } })
    const before = JSON.stringify(theirs.chip.memory.keys)
    const ran = await box([theirs, ours], { rows: rowsNamed('E', 1) })
    expect(ran.lines.map(({ status }) => status)).toEqual(['failed', 'provisioned'])
    expect(JSON.stringify(theirs.chip.memory.keys)).toBe(before)
    expect(theirs.failedAuthentications).toBe(0)
    expect(await labelOf(ours)).toBe('E-1')
  })

  test('whatever is laid down in whatever order, each label is where its line says, and none appears twice', async () => {
    const step = fc.record({
      which: fc.nat({ max: 4 }),
      tear: fc.option(
        fc.record({
          apdu: fc.integer({ min: 1, max: 45 }),
          when: fc.constantFrom<TearOff['when']>('before', 'after'),
        }),
      ),
    })
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 9 }), async (steps) => {
        round += 1
        const chips = [foreign(), new Chip(), new Chip(), new Chip(), new Chip()]
        const script = steps.flatMap(({ which, tear }) => {
          const chip = chips[which]
          return chip ? [tear ? { chip, tear } : chip] : []
        })
        const ran = await box(script, { rows: rowsNamed(`F${round}`, 4) })
        const done = ran.lines.filter(({ status }) => status !== 'failed')
        const rows = new Map(done.map(({ uid, row }) => [uid, row]))
        expect([...rows.values()]).toEqual(Array.from({ length: rows.size }, (_, i) => i + 1))
        for (const { uid, row } of done) {
          expect(rows.get(uid)).toBe(row)
          expect(await admin(`/admin/chips/${uid}`)).toMatchObject({ label: `F${round}-${row}` })
        }
        for (const chip of chips) expect(chip.failedAuthentications).toBeLessThan(10)
      }),
      { numRuns: 15 },
    )
  })
})

test('a card that loses its field for a moment, and lies there still, is gone on with', async () => {
  const chip = new Chip()
  const script = [12, 16, 0].map((apdu) => ({ chip, tear: { apdu, when: 'after' } }) as const)
  const readers = new ScriptedReaders(script)
  const wait = readers.waitForCard.bind(readers)
  readers.waitForCard = async (options) => {
    const card = await wait(options)
    // Nobody lifts it: it is the connection that broke.
    card.removed = ({ signal } = {}) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    return card
  }
  const { ctx, stdout } = context()
  const rows = new RowsOfChips([])
  const code = await startBox(ctx, readers, { count: 1, rows, isSingle: true })
  await ctx.io.flush()
  ctx.close()
  expect(code).toBe(0)
  expect(JSON.parse(stdout.text)).toMatchObject({ uid: chip.uid, status: 'provisioned' })
  expect(chip.failedAuthentications).toBe(0)
})

test('lines and hints come in the order in which things happened, also on a slow terminal', async () => {
  const screen: string[] = []
  class Slow extends Text {
    readonly isTTY = true
    readonly #ticks: number
    constructor(ticks: number) {
      super()
      this.#ticks = ticks
    }
    override _write(chunk: Buffer, encoding: BufferEncoding, done: () => void, left = this.#ticks): void {
      if (left > 0) return void setImmediate(() => this._write(chunk, encoding, done, left - 1))
      screen.push(String(chunk))
      done()
    }
  }
  const { ctx } = context(undefined, { stdout: new Slow(20), stderr: new Slow(0), json: false })
  const [torn, good] = [new Chip(), new Chip()]
  const tear = { apdu: 15, when: 'after' } as const
  await startBox(ctx, new ScriptedReaders([{ chip: torn, tear }, good, torn]), {
    count: 2,
    rows: new RowsOfChips([]),
  })
  await ctx.io.flush()
  ctx.close()
  const words =
    /put (it|the next one|that chip or the next one) on|failed {2}|left the reader|Remove it|provisioned {2}/g
  expect(screen.join('').match(words)).toEqual([
    ...['put it on', 'failed  ', 'left the reader'],
    ...[
      'put that chip or the next one on',
      'provisioned  ',
      'Remove it',
      'put the next one on',
      'provisioned  ',
    ],
  ])
})

describe('the end of a box', () => {
  test('with no card any more: 3 where some are done or failed, 6 where none came', async () => {
    const some = await box([new Chip()], { count: 2 })
    expect(some.code).toBe(3)
    expect(some.stderr).toContain('Continue: tapchip nfc provision --resume b_1')
    expect((await box([foreign()], { count: 2 })).code).toBe(1)
    const none = await box([], { count: 2 })
    expect(none.code).toBe(6)
    expect(none.stderr).toContain('No card was put on the reader')
  })

  test('of one chip alone: 1 where it fails, 6 where it is lifted, and nothing more is waited for', async () => {
    expect((await box([new Chip()], { count: 1, isSingle: true })).code).toBe(0)
    expect((await box([foreign(), new Chip()], { count: 1, isSingle: true })).code).toBe(1)
    const chip = new Chip()
    const lifted = await box([{ chip, tear: { apdu: 15, when: 'before' } }, new Chip()], {
      count: 1,
      isSingle: true,
    })
    expect(lifted.code).toBe(6)
    expect(lifted.lines).toMatchObject([{ uid: chip.uid, status: 'failed' }])
  })

  test('is told in numbers', async () => {
    const ran = await box([foreign(), new Chip(), new Chip()], { count: 2 })
    expect(ran.stderr).toMatch(/2 chips of 2 done: 2 provisioned, 0 unchanged, 1 failed \([\d,]+ a minute\)/)
  })

  test('its file names chips, rows and how they ended', async () => {
    await box([new Chip(), foreign()], { rows: rowsNamed('G', 2) })
    const folder = join(home, '.local/state/tapchip/batches')
    const [name = ''] = readdirSync(folder)
    const types = readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).type)
    expect(types).toEqual(['box', 'opened', 'begun', 'result', 'begun', 'result', 'closed'])
  })
})

describe('Ctrl-C', () => {
  const interruptedAt = async (apdu: number) => {
    const chip = new Chip()
    let interrupt: (signal: NodeJS.Signals) => void = () => undefined
    const { ctx } = context((handler) => {
      interrupt = handler
      return () => undefined
    })
    const readers = new ScriptedReaders([chip, new Chip()])
    const card = await readers.waitForCard()
    let sent = 0
    const transmit = card.transmit.bind(card)
    card.transmit = async (bytes) => {
      sent += 1
      if (sent === apdu) interrupt('SIGINT')
      return transmit(bytes)
    }
    const rows = new RowsOfChips([])
    const ended = await withStop(ctx, (stop) =>
      startBox(ctx, readers, { count: 2, rows, id: 'b_1', stop }),
    ).catch((error: unknown) => describeError(error).exitCode)
    ctx.close()
    return { ended, chip, rows }
  }

  test('while a chip is only looked at leaves it blank', async () => {
    const { ended, chip, rows } = await interruptedAt(5)
    expect(ended).toBe(130)
    expect(rows.done).toBe(0)
    expect(chip.versions).toEqual([0, 0, 0, 0, 0])
    expect(await admin(`/admin/nfc/journal?uid=${chip.uid}`)).toEqual([])
  })

  test.each([13, 16, 19, 30])('while one is written, at APDU %i, finishes that one', async (apdu) => {
    const { ended, chip, rows } = await interruptedAt(apdu)
    expect(ended).toBe(130)
    expect(rows.done).toBe(1)
    expect(chip.versions).toEqual([1, 1, 1, 1, 1])
    expect(await admin(`/admin/nfc/journal?uid=${chip.uid}`)).toEqual([])
  })

  test('while a chip does not answer any more waits a second, and leaves it in the journal', async () => {
    const chip = new Chip()
    let interrupt: (signal: NodeJS.Signals) => void = () => undefined
    const { ctx } = context((handler) => {
      interrupt = handler
      return () => undefined
    })
    const readers = new ScriptedReaders([chip])
    const card = await readers.waitForCard()
    let sent = 0
    const transmit = card.transmit.bind(card)
    card.transmit = (bytes) => {
      sent += 1
      if (sent < 15) return transmit(bytes)
      interrupt('SIGINT')
      return new Promise(() => undefined)
    }
    const began = Date.now()
    const ended = await withStop(ctx, (stop) =>
      startBox(ctx, readers, { count: 1, rows: new RowsOfChips([]), isSingle: true, stop }),
    ).catch((error: unknown) => describeError(error).exitCode)
    ctx.close()
    expect(ended).toBe(130)
    expect(Date.now() - began).toBeLessThan(5_000)
    expect(await admin(`/admin/nfc/journal?uid=${chip.uid}`)).toMatchObject([{ uid: chip.uid }])
  })
})
