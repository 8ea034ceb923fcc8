import type { Placeholder } from '../ntag424/template/parse.ts'

// The templates that a URL admits, each to be tried with all keys.

/** Readings of one URL. Most have one; more come from values without separators and from hex of other meaning. */
const maxReadings = 16

type Slot = Exclude<Placeholder, 'keySet'>
type Piece = string | { readonly slot: Placeholder; readonly text: string }

const fixed = { picc: [32, 48], uid: [14], ctr: [6], mac: 16 } as const

/** The texts of templates for each reading of a URL: the MAC over nothing, and from each place where it may begin. */
export function* templateTexts(url: string): Generator<readonly string[]> {
  const at = url.indexOf('?') + 1
  for (const query of readings(url.slice(at))) {
    const whole = url.slice(0, at) + query
    const end = whole.indexOf('{mac}')
    // A chip's MAC covers its encrypted data, and a status that it does not cover would say nothing.
    const needed = ['{enc}', '{tt}'].flatMap((slot) => (query.includes(slot) ? whole.indexOf(slot) : []))
    const texts = needed.length === 0 ? [`?${withPlaceholders(query.split('&'))}`] : []
    for (let mark = 0; mark < end && mark <= Math.min(...needed); mark += 1)
      if (isBoundary(whole, mark)) texts.push(marked(whole, mark))
    yield texts
  }
}

/** Queries with placeholders in place of what a chip may have filled in. */
export function* readings(query: string): Generator<string> {
  const choices = query.split('&').map((parameter) => {
    const at = parameter.indexOf('=') + 1
    return {
      name: parameter.slice(0, at),
      values: [...valueReadings(parameter.slice(0, at), parameter.slice(at))],
    }
  })
  let found = 0
  const taken = new Set<string>()
  function* from(index: number, before: readonly string[]): Generator<string> {
    const choice = choices[index]
    if (!choice) {
      if (isTap(taken)) yield before.join('&')
      return
    }
    for (const pieces of choice.values) {
      const slots = pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.slot]))
      if (slots.some((slot) => taken.has(slot))) continue
      for (const slot of slots) taken.add(slot)
      yield* from(index + 1, [...before, choice.name + textOf(pieces)])
      for (const slot of slots) taken.delete(slot)
    }
  }
  for (const reading of from(0, [])) {
    yield reading
    found += 1
    if (found === maxReadings) return
  }
}

const isTap = (slots: ReadonlySet<string>): boolean =>
  slots.has('mac') &&
  (slots.has('picc') ? !slots.has('uid') && !slots.has('ctr') : slots.has('uid') && slots.has('ctr'))

const textOf = (pieces: readonly Piece[]): string =>
  pieces.map((piece) => (typeof piece === 'string' ? piece : `{${piece.slot}}`)).join('')

/** Most likely ones first: those with the most placeholders. */
function valueReadings(name: string, value: string): readonly (readonly Piece[])[] {
  if (name === 'd=' && /^(0|[1-9]\d{0,9})$/.test(value)) return [[{ slot: 'keySet', text: value }], [value]]
  // C, O and I are the letters of a TagTamper's status.
  const runs = value.split(/([0-9A-Fa-fOI]+)/)
  let all: (readonly Piece[])[] = [[]]
  for (const [index, text] of runs.entries()) {
    const options = index % 2 === 0 ? [[text]] : runReadings(text)
    all = all.flatMap((pieces) => options.map((option) => [...pieces, ...option])).slice(0, maxReadings)
  }
  return all
}

/** A run of hex digits is made up of values of a tap from end to end, or of none. */
function runReadings(run: string): readonly (readonly Piece[])[] {
  const found: Piece[][] = []
  const split = (rest: string, pieces: readonly Piece[]): void => {
    if (rest === '') found.push([...pieces])
    for (const [slot, length] of lengthsIn(rest, pieces))
      split(rest.slice(length), [...pieces, { slot, text: rest.slice(0, length) }])
  }
  split(run, [])
  return [...found.sort((a, b) => a.length - b.length), [run]]
}

function lengthsIn(rest: string, before: readonly Piece[]): (readonly [Slot, number])[] {
  const has = (slot: Slot): boolean =>
    before.some((piece) => typeof piece !== 'string' && piece.slot === slot)
  const isFree = (slot: Slot): boolean =>
    !has(slot) && !(slot === 'picc' ? has('uid') || has('ctr') : /uid|ctr/.test(slot) && has('picc'))
  const options: (readonly [Slot, number])[] = []
  const hex = /^[0-9A-Fa-f]*/.exec(rest)?.[0].length ?? 0
  const add = (slot: Slot, length: number): void => {
    if (length <= hex && isFree(slot)) options.push([slot, length])
  }
  for (const slot of ['picc', 'uid', 'ctr'] as const) for (const length of fixed[slot]) add(slot, length)
  for (let length = 32; length <= hex; length += 32) add('enc', length)
  add('mac', fixed.mac)
  if (/^[COI]{2}/.test(rest) && isFree('tt')) options.push(['tt', 2])
  return options
}

/** Where a word, a placeholder, the path, or a parameter begins. */
function isBoundary(text: string, at: number): boolean {
  const [before, here] = [text[at - 1] ?? '', text[at] ?? '']
  if (text.lastIndexOf('{', at - 1) > text.lastIndexOf('}', at - 1)) return false
  return /[{?&/]/.test(here) || before === '}' || (/\w/.test(here) && !/\w/.test(before))
}

/** With ^ at a character, and without what neither the MAC covers nor the tap is read from. */
function marked(whole: string, mark: number): string {
  const start = whole.indexOf('?') + 1
  if (mark < start) return markedFrom(whole.slice(0, start), whole.slice(start), mark, 0)
  return markedFrom('?', whole.slice(start), 1 + mark - start, mark - start)
}

function markedFrom(head: string, query: string, mark: number, covered: number): string {
  let end = 0
  let isBehindMac = false
  const kept: string[] = []
  let dropped = 0
  for (const parameter of query.split('&')) {
    const startsAt = end
    end += parameter.length + 1
    // A mark directly before an & belongs to the parameter before it.
    const isCovered = startsAt + parameter.length >= covered && !isBehindMac
    if (parameter.includes('{mac}')) isBehindMac = true
    if (isCovered || parameter.includes('{')) kept.push(parameter)
    else if (startsAt < covered) dropped += parameter.length + 1
  }
  const text = head + kept.join('&')
  return `${text.slice(0, mark - dropped)}^${text.slice(mark - dropped)}`
}

const withPlaceholders = (parameters: readonly string[]): string =>
  parameters.filter((parameter) => parameter.includes('{')).join('&')
