import { Slice } from './slices.ts'

// What takes long to parse, whatever it may mean, is refused unparsed: a megabyte of `{},` takes a tenth of a second.

const mostValues = 110_000
/** Members of objects take longer: ten thousand attributes have two each. */
const mostMembers = 21_000
/** And objects of many shapes longer still. */
const mostNames = 1000
export const deepestJson = 64

/** What of a JSON text is too much, said so that it can follow a field's name. */
export interface Excess {
  /** The outermost member that it is in. */
  readonly field: string | undefined
  readonly reason: string
}

/**
 * Looks at a JSON text as bytes, and makes nothing of it. It need not be valid.
 * @param members how many objects may have in all
 */
export async function excessOf(json: Buffer, members = mostMembers): Promise<Excess | undefined> {
  const slice = new Slice()
  const scan = new Scan(json, members)
  // So much takes a few milliseconds at most.
  for (let to = 0; to < json.length; ) {
    to = Math.min(to + 256 * 1024, json.length)
    const reason = scan.upTo(to)
    if (reason !== undefined) return { field: scan.field, reason }
    if (slice.isOver) await slice.next()
  }
  return undefined
}

/** Of a member's name, so much is told and told apart. */
const longestName = 64

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openArray = 0x5b
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

class Scan {
  readonly #json: Buffer
  readonly #mostMembers: number
  #at = 0
  #values = 1
  #members = 0
  #depth = 0
  readonly #names = new Set<string>()
  #isInText = false
  #text = { from: 0, to: 0 }
  #field: { from: number; to: number } | undefined

  constructor(json: Buffer, mostMembers: number) {
    this.#json = json
    this.#mostMembers = mostMembers
  }

  get field(): string | undefined {
    const { from, to } = this.#field ?? this.#text
    return this.#field && this.#json.toString('utf8', from, Math.min(to, from + longestName))
  }

  /** @returns why it is too much */
  upTo(end: number): string | undefined {
    while (this.#at < end) {
      if (this.#isInText) this.#skipText(end)
      else {
        const reason = this.#readSigns(end)
        if (reason !== undefined) return reason
      }
    }
    return undefined
  }

  #skipText(end: number): void {
    const json = this.#json
    let at = this.#at
    while (at < end && json[at] !== quote) at += json[at] === backslash ? 2 : 1
    this.#isInText = at >= end
    this.#text.to = at
    this.#at = this.#isInText ? at : at + 1
  }

  /** Up to the next text. */
  #readSigns(end: number): string | undefined {
    const json = this.#json
    for (let at = this.#at; at < end; at += 1) {
      const sign = json[at]
      if (sign === quote) {
        this.#isInText = true
        this.#text = { from: at + 1, to: at + 1 }
        this.#at = at + 1
        return undefined
      }
      if (sign === colon) {
        if (this.#depth === 1) this.#field = this.#text
        this.#members += 1
        const { from, to } = this.#text
        this.#names.add(json.toString('latin1', from, Math.min(to, from + longestName)))
        if (this.#members > this.#mostMembers) return `must not hold more than ${this.#mostMembers} members`
        if (this.#names.size > mostNames) return `must not hold members of more than ${mostNames} names`
      } else if (sign === comma || sign === openArray || sign === openObject) {
        this.#values += 1
        if (this.#values > mostValues)
          return `must not hold more than ${mostValues} values: send fewer at a time`
        if (sign !== comma) this.#depth += 1
        if (this.#depth > deepestJson) return `must not be nested more than ${deepestJson} levels deep`
      } else if (sign === closeArray || sign === closeObject) this.#depth -= 1
    }
    this.#at = end
    return undefined
  }
}
