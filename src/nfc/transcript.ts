import { hasSucceeded } from './ntag424/errors.ts'
import { type Script, send } from './script.ts'

// The exchanges between reader and chip. Bytes that are secret or differ between chips are hidden as `??`, and are
// ignored when two transcripts are compared.

export type TranscriptLine =
  | { readonly step: string; readonly command: string; readonly answer: string }
  /** A result, for example the rise of the counter. */
  | { readonly step: string; readonly value: string }
  | { readonly step: string; readonly error: string }

const HIDDEN = '??'
/** Number of plain header bytes by instruction. Source: NT4H2421Gx s10.2 */
const HEADERS: Readonly<Record<number, number>> = {
  100: 1, // GetKeyVersion
  245: 1, // GetFileSettings
  95: 1, // ChangeFileSettings
  196: 1, // ChangeKey
  246: 1, // GetFileCounters
  92: 1, // SetConfiguration
  173: 7, // ReadData
  141: 7, // WriteData
}
const SESSION_OPENERS = [0x71, 0x77]
const MORE = 0xaf
const SELECT = 0xa4
const READ_BINARY = 0xb0
const READ_DATA = 0xad
const READ_SIG = 0x3c

/** Hides the secrets of one conversation. It tracks the session, in which all answers are hidden. */
export class Redactor {
  #session = false
  #handshake = false
  #version = 0

  /** Returns upper-case hex with ?? for each hidden byte. */
  redact(command: Uint8Array, answer: Uint8Array): { command: string; answer: string } {
    const [cla, ins = 0] = command
    const isNative = cla === 0x90
    const status = hex(answer.subarray(-2))
    const data = answer.subarray(0, -2)
    const opened = isNative && SESSION_OPENERS.includes(ins)
    const proof = isNative && ins === MORE && this.#handshake
    this.#version = isNative && (ins === 0x60 || (ins === MORE && this.#version > 0)) ? this.#version + 1 : 0

    let shown = hex(command)
    if (proof) shown = hiddenAfter(command, 5, 1)
    else if (isNative && !opened && command.length > 5)
      shown = hiddenAfter(command, 5 + (HEADERS[ins] ?? 0), 1)
    const identifies = this.#version === 3 || (isNative && ins === READ_SIG)
    const secret = opened || proof || (isNative && this.#session) || identifies || reads(cla, ins)
    const line = { command: shown, answer: (secret ? HIDDEN.repeat(data.length) : hex(data)) + status }

    if (opened) this.#session = false
    if (proof) this.#session = status === '9100'
    this.#handshake = opened && status === '91AF'
    const ends = isNative ? !hasSucceeded(answer) : ins === SELECT
    if (ends || (isNative && ins === 0xc4 && data.length === 0)) this.#session = false
    return line
  }
}

/**
 * Passes every exchange of a script to `note`, including those before an error. Its commands travel one by one, so that
 * a chip that is lifted in a burst leaves those that it answered.
 */
export function* transcribed<Result>(
  script: Script<Result>,
  step: string,
  redactor: Redactor,
  note: (line: TranscriptLine) => void,
): Script<Result> {
  let next = script.next()
  while (!next.done) {
    const answers: Uint8Array[] = []
    for (const command of next.value) {
      const answer = yield* send(command)
      answers.push(answer)
      note({ step, ...redactor.redact(command, answer) })
      if (!hasSucceeded(answer)) break
    }
    next = script.next(answers)
  }
  return next.value
}

/** Describes the differences between two transcripts of the same conversation. Hidden bytes match anything. */
export function transcriptDifferences(
  recorded: readonly TranscriptLine[],
  replayed: readonly TranscriptLine[],
): string[] {
  const differences: string[] = []
  for (let at = 0; at < Math.max(recorded.length, replayed.length); at += 1) {
    const [one, other] = [recorded[at], replayed[at]]
    if (one && other && matches(one, other)) continue
    differences.push(
      `${at + 1}: ${one ? describe(one) : 'nothing'}, but replayed ${other ? describe(other) : 'nothing'}`,
    )
  }
  return differences
}

function matches(one: TranscriptLine, other: TranscriptLine): boolean {
  if (one.step !== other.step) return false
  if ('command' in one)
    return (
      'command' in other &&
      equalWhereShown(one.command, other.command) &&
      equalWhereShown(one.answer, other.answer)
    )
  if ('value' in one) return 'value' in other && one.value === other.value
  return 'error' in other
}

function equalWhereShown(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at += 2) {
    const [x, y] = [a.slice(at, at + 2), b.slice(at, at + 2)]
    if (x !== y && x !== HIDDEN && y !== HIDDEN) return false
  }
  return true
}

function describe(line: TranscriptLine): string {
  if ('command' in line) return `${line.step}: ${line.command} → ${line.answer}`
  return `${line.step}: ${'value' in line ? line.value : line.error}`
}

/** File contents may hold a tap's one-time codes. */
function reads(cla: number | undefined, ins: number): boolean {
  return (cla === 0x00 && ins === READ_BINARY) || (cla === 0x90 && ins === READ_DATA)
}

/** @param end number of bytes shown at the end: Le */
function hiddenAfter(bytes: Uint8Array, start: number, end: number): string {
  const hidden = Math.max(0, bytes.length - start - end)
  return hex(bytes.subarray(0, start)) + HIDDEN.repeat(hidden) + hex(bytes.subarray(start + hidden))
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').toUpperCase()
}
