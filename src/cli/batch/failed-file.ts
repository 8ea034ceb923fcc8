import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { tidyCell } from '../../values/invisible.ts'
import { type JsonObject, parseExact, stringifyExact } from '../../values/json.ts'
import type { CliContext } from '../context.ts'
import { exitCodes, UsageError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import type { Io } from '../io/io.ts'
import { type Delimiter, sheetLine, unguardCell } from '../io/lists.ts'
import { clean, shellQuoted } from '../io/text.ts'
import { reasonColumn } from './input/columns.ts'
import { groupFrom, ranges } from './input/problems.ts'
import type { SheetOptions, SheetReader } from './input/sheet.ts'

/** The rows as the kind of batch writes them. */
interface OwnForm {
  readonly heading: readonly string[]
  cells(row: number): readonly string[]
}

/** The file of failed rows: the sheet's own columns and headings, and the reason. */
export interface FailedFile {
  /** The reader of the sheet, for the original rows. */
  readonly reading: Pick<SheetReader, 'heading' | 'original'>
  /** If no row failed, an older file is cut to its heading. */
  write(failed: readonly { readonly row: number; readonly error: string }[], format: OwnForm): void
}

/**
 * Checks before the first row is sent that the file can be written, and leaves its content as it is until then.
 * @param files columns whose cells name files, relative to the sheet
 * @throws UsageError if it cannot be written, or is the input itself
 */
export const openFailedFile = (
  ctx: CliContext,
  file: string | undefined,
  input: string,
  options: Pick<SheetOptions, 'columns' | 'renamed'>,
  files: ReadonlySet<string> = new Set(),
): FailedFile | undefined => {
  if (file === undefined) return undefined
  const path = resolve(ctx.system.cwd, file)
  assertWritable(ctx, file, path, input)
  const isBeside = input !== '-' && dirname(resolve(ctx.system.cwd, input)) === dirname(path)
  const originals = new Originals()
  return {
    reading: originals,
    write: (failed, format) => {
      const columnOf = new Map(
        options.columns.map((column) => [options.renamed.get(column) ?? column, column]),
      )
      const { heading, delimiter } = originals.shape(failed.map(({ row }) => row))
      // The reason of an earlier run is replaced.
      const isReason = (name: string) => name === reasonColumn && !columnOf.has(name)
      const kept = heading.flatMap((name, at) => (isReason(name) ? [] : [{ name, at }]))
      const cellOf = (row: number, { name, at }: (typeof kept)[number], mine: readonly string[]): string => {
        const column = columnOf.get(name) ?? ''
        const original = originals.cell(row, name, at)
        const index = format.heading.indexOf(column)
        // No spreadsheet changes a UID in colons. A path counts from the folder of the sheet.
        const isOurs = original === undefined || column === 'uid' || (files.has(column) && !isBeside)
        return (isOurs && mine[index]) || (original ?? '')
      }
      const rows = failed.map(({ row, error }) => {
        const mine = format.cells(row)
        return [...kept.map((one) => cellOf(row, one, mine)), error]
      })
      const names = [...kept.map(({ name }) => name), reasonColumn]
      writeRows(ctx, file, path, [names, ...rows], delimiter)
    },
  }
}

const assertWritable = (ctx: CliContext, file: string, path: string, input: string): void => {
  const name = `--failed ${shellQuoted(file)}`
  withFiles({ path: name, verb: 'written', exitCode: exitCodes.usage }, () => {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats?.isDirectory()) throw new UsageError(`${name} is a directory.`, 'Give a file.')
    if (stats && isSame(stats, inputStats(ctx, input)))
      throw new UsageError(
        `${name} is the input itself. Nothing was written.`,
        'Give another file, and keep the input: it is the only record of the other rows.',
      )
    if (stats && !stats.isFile()) return accessSync(path, constants.W_OK)
    closeSync(openSync(path, 'a', 0o600))
    if (!stats) rmSync(path)
  })
}

const isSame = (one: Stats, other: Stats | undefined): boolean =>
  one.isFile() && one.dev === other?.dev && one.ino === other.ino

const inputStats = (ctx: CliContext, input: string): Stats | undefined => {
  try {
    return input === '-' ? fstatSync(0) : statSync(resolve(ctx.system.cwd, input))
  } catch {
    // Reading it says why.
    return undefined
  }
}

/** The rows of a sheet as they are, each as one string. */
class Originals {
  #heading: readonly string[] | undefined
  #delimiter: Delimiter = ','
  readonly #rows: string[] = []
  #open: { readonly row: number; readonly value: readonly string[] | JsonObject } | undefined

  readonly heading = (names: readonly string[], delimiter: Delimiter): void => {
    this.#heading = names.map((name) => tidyCell(undefined, name))
    this.#delimiter = delimiter
  }

  readonly original = (row: number, value: readonly string[] | JsonObject): void => {
    this.#rows[row] = stringifyExact(value)
  }

  /** A CSV sheet has one heading; in JSON, each row has its own names. */
  shape(rows: readonly number[]): { readonly heading: readonly string[]; readonly delimiter: Delimiter } {
    const named = rows.length > 0 ? rows : [1]
    const heading = this.#heading ?? [...new Set(named.flatMap((row) => Object.keys(this.#itemAt(row))))]
    return { heading, delimiter: this.#delimiter }
  }

  /** @returns undefined if the row has no such cell */
  cell(row: number, name: string, at: number): string | undefined {
    const value = this.#itemAt(row)
    if (Array.isArray(value)) return at < value.length ? unguardCell(String(value[at])) : undefined
    if (!Object.hasOwn(value, name)) return undefined
    const cell: unknown = Object.getOwnPropertyDescriptor(value, name)?.value
    return typeof cell === 'string' ? cell : cell === null ? '' : stringifyExact(cell)
  }

  #itemAt(row: number): object {
    // Written by `original`.
    if (this.#open?.row !== row)
      this.#open = { row, value: parseExact(this.#rows[row] ?? '{}') as JsonObject }
    return this.#open.value
  }
}

/** The file may hold keys, so only its owner can read it. */
const writeRows = (
  ctx: CliContext,
  file: string,
  path: string,
  rows: readonly (readonly string[])[],
  delimiter: Delimiter,
): void => {
  const isEmpty = rows.length === 1
  if (isEmpty && !existsSync(path)) return
  const advice = 'See the failed rows: tapchip batch report ID --failed'
  withFiles({ path: file, verb: 'written', advice }, () =>
    writeFileSync(path, rows.map((cells) => sheetLine(cells, delimiter)).join(''), { mode: 0o600 }),
  )
  if (isEmpty) ctx.io.note(`No row failed: ${shellQuoted(file)} now has only the heading.`)
  else ctx.io.note(`The failed rows were saved. Fix them and run them again: --file ${shellQuoted(file)}`)
}

/** More than anyone reads; `batch report` has the rest. */
const maxShown = 50

interface Failure {
  readonly row: number
  readonly why: string
}

interface FailureGroup {
  readonly failures: Failure[]
  readonly lines: string[]
}

const kindOf = (why: string): string => why.replace(/\b(0x[0-9a-fA-F]{40}|\d+)\b/g, '…')

/**
 * Prints failures as they come, but not a million of them: the first one of each reason at once, the others at the end,
 * in one line if there are many.
 */
export const failureReporter = (io: Io) => {
  const groups = new Map<string, FailureGroup>()
  let printed = 0
  let remaining = 0
  const print = (line: string, rows = 1): void => {
    if (printed < maxShown) io.warn(line)
    else remaining += rows
    printed += 1
  }
  const printGroup = ({ failures, lines }: FailureGroup, kind: string): void => {
    if (failures.length < groupFrom) {
      for (const line of lines) print(line)
      return
    }
    const [first] = failures
    const isSame = failures.every(({ why }) => why === first?.why)
    const rows = ranges(failures.map(({ row }) => row))
    print(clean(`rows ${rows}: ${isSame ? first?.why : kind}`), failures.length)
  }
  return {
    report: (line: string, failure: Failure): void => {
      const kind = kindOf(failure.why)
      const before = groups.get(kind)
      if (before === undefined) {
        groups.set(kind, { failures: [failure], lines: [] })
        print(line)
        return
      }
      before.failures.push(failure)
      // From here on, one line names them all.
      if (before.failures.length < groupFrom) before.lines.push(line)
    },
    end: (id: string): void => {
      for (const [kind, one] of groups) printGroup(one, kind)
      if (remaining === 0) return
      io.warn(
        `… and ${remaining.toLocaleString('en-US')} more failed. See all of them: tapchip batch report ${id} --failed`,
      )
    },
  }
}
