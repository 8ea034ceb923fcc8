import type { Script } from './script.ts'

// What went between reader and chip, with everything left out that is secret or differs from chip to chip. A byte
// that is left out is `??`: two transcripts are compared by what is left, see transcriptDifferences.

export type TranscriptLine =
  | { readonly step: string; readonly command: string; readonly answer: string }
  /** Something that was learnt, for example how many counts a read took. */
  | { readonly step: string; readonly value: string }
  | { readonly step: string; readonly error: string }

const HIDDEN = '??'
/** Bytes of a command that are sent in clear, by instruction: NT4H2421Gx s10.2. */
const HEADERS: Readonly<Record<number, number>> = {
  100: 1, // GetKeyVersion
  245: 1, // GetFileSettings
  95: 1, // ChangeFileSettings
  196: 1, // ChangeKey
  246: 1, // GetFileCounters
  173: 7, // ReadData
  141: 7, // WriteData
}
const SESSION_OPENERS = [0x71, 0x77]
const MORE = 0xaf
const SELECT = 0xa4
const READ_BINARY = 0xb0
const READ_DATA = 0xad

/** Hides the secrets of one conversation; it follows the session, since in one no answer is shown. */
export class Redactor {
  #session = false
  #handshake = false
  #version = 0

  /** One exchange: both in upper-case hex, with ?? for what is left out. */
  redact(command: Uint8Array, answer: Uint8Array): { command: string; answer: string } {
    const [cla, ins = 0] = command
    const own = cla === 0x90
    const status = hex(answer.subarray(-2))
    const data = answer.subarray(0, -2)
    const opened = own && SESSION_OPENERS.includes(ins)
    const proof = own && ins === MORE && this.#handshake
    this.#version = own && (ins === 0x60 || (ins === MORE && this.#version > 0)) ? this.#version + 1 : 0

    let shown = hex(command)
    if (proof) shown = hiddenAfter(command, 5, 1)
    else if (own && !opened && command.length > 5) shown = hiddenAfter(command, 5 + (HEADERS[ins] ?? 0), 1)
    const secret = opened || proof || (own && this.#session) || this.#version === 3 || reads(cla, ins)
    const line = { command: shown, answer: (secret ? HIDDEN.repeat(data.length) : hex(data)) + status }

    if (opened) this.#session = false
    if (proof) this.#session = status === '9100'
    this.#handshake = opened && status === '91AF'
    const ends = own ? status !== '9100' && status !== '91AF' : ins === SELECT
    if (ends || (own && ins === 0xc4 && data.length === 0)) this.#session = false
    return line
  }
}

/** Notes down every exchange of a script. A script that ends with an error has noted what came before it. */
export function* transcribed<Result>(
  script: Script<Result>,
  step: string,
  redactor: Redactor,
  note: (line: TranscriptLine) => void,
): Script<Result> {
  let next = script.next()
  while (!next.done) {
    const command = next.value
    const answer = yield command
    note({ step, ...redactor.redact(command, answer) })
    next = script.next(answer)
  }
  return next.value
}

/** Where two transcripts of the same conversation differ, in words; what either left out is no difference. */
export function transcriptDifferences(
  recorded: readonly TranscriptLine[],
  replayed: readonly TranscriptLine[],
): string[] {
  const differences: string[] = []
  for (let at = 0; at < Math.max(recorded.length, replayed.length); at += 1) {
    const [one, other] = [recorded[at], replayed[at]]
    if (one && other && matches(one, other)) continue
    differences.push(
      `${at + 1}: ${one ? spoken(one) : 'nothing'}, but replayed ${other ? spoken(other) : 'nothing'}`,
    )
  }
  return differences
}

function matches(one: TranscriptLine, other: TranscriptLine): boolean {
  if (one.step !== other.step) return false
  if ('command' in one)
    return 'command' in other && masked(one.command, other.command) && masked(one.answer, other.answer)
  if ('value' in one) return 'value' in other && one.value === other.value
  return 'error' in other
}

function masked(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at += 2) {
    const [x, y] = [a.slice(at, at + 2), b.slice(at, at + 2)]
    if (x !== y && x !== HIDDEN && y !== HIDDEN) return false
  }
  return true
}

function spoken(line: TranscriptLine): string {
  if ('command' in line) return `${line.step}: ${line.command} → ${line.answer}`
  return `${line.step}: ${'value' in line ? line.value : line.error}`
}

/** What is read may be a tap, whose codes are good for one use. */
function reads(cla: number | undefined, ins: number): boolean {
  return (cla === 0x00 && ins === READ_BINARY) || (cla === 0x90 && ins === READ_DATA)
}

/** @param end bytes at the end that are shown: Le */
function hiddenAfter(bytes: Uint8Array, start: number, end: number): string {
  const hidden = Math.max(0, bytes.length - start - end)
  return hex(bytes.subarray(0, start)) + HIDDEN.repeat(hidden) + hex(bytes.subarray(start + hidden))
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').toUpperCase()
}
