import { TimeSlice } from './time-slices.ts'

// JSON that would take long to parse is refused unparsed: a megabyte of `{},` takes a tenth of a second.

const maxValues = 110_000
/** Members take longer than values. Ten thousand attributes have two each. */
const maxMembers = 21_000
/** Objects of many shapes take even longer. */
const maxNames = 1000
const maxDepth = 64

/** `reason` can follow a field's name. */
interface Excess {
  /** The top-level member that contains the excess. */
  readonly field: string | undefined
  readonly reason: string
}

/**
 * Scans JSON as bytes, which may be invalid, without parsing it.
 * @param members the maximum number of members of all objects
 */
export async function excessOf(json: Buffer, members = maxMembers): Promise<Excess | undefined> {
  const slice = new TimeSlice()
  const scan = new Scan(json, members)
  // 256 KiB take a few milliseconds at most.
  for (let to = 0; to < json.length; ) {
    to = Math.min(to + 256 * 1024, json.length)
    const reason = scan.upTo(to)
    if (reason !== undefined) return { field: scan.field, reason }
    if (slice.shouldYield) await slice.next()
  }
  return undefined
}

/** Longer names are cut, and compared by this part. */
const maxNameLength = 64

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
  readonly #maxMembers: number
  #position = 0
  #values = 1
  #members = 0
  #depth = 0
  readonly #names = new Set<string>()
  #isInText = false
  #text = { from: 0, to: 0 }
  #field: { from: number; to: number } | undefined

  constructor(json: Buffer, maxMembers: number) {
    this.#json = json
    this.#maxMembers = maxMembers
  }

  get field(): string | undefined {
    const { from, to } = this.#field ?? this.#text
    return this.#field && this.#json.toString('utf8', from, Math.min(to, from + maxNameLength))
  }

  /** @returns the reason if it is too much */
  upTo(end: number): string | undefined {
    while (this.#position < end) {
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
    let at = this.#position
    while (at < end && json[at] !== quote) at += json[at] === backslash ? 2 : 1
    this.#isInText = at >= end
    this.#text.to = at
    this.#position = this.#isInText ? at : at + 1
  }

  /** Reads up to the next string. */
  #readSigns(end: number): string | undefined {
    const json = this.#json
    for (let at = this.#position; at < end; at += 1) {
      const sign = json[at]
      if (sign === quote) {
        this.#isInText = true
        this.#text = { from: at + 1, to: at + 1 }
        this.#position = at + 1
        return undefined
      }
      if (sign === colon) {
        if (this.#depth === 1) this.#field = this.#text
        this.#members += 1
        const { from, to } = this.#text
        this.#names.add(json.toString('latin1', from, Math.min(to, from + maxNameLength)))
        if (this.#members > this.#maxMembers) return `must not contain more than ${this.#maxMembers} members`
        if (this.#names.size > maxNames)
          return `must not contain members of more than ${maxNames} different names`
      } else if (sign === comma || sign === openArray || sign === openObject) {
        this.#values += 1
        if (this.#values > maxValues)
          return `must not contain more than ${maxValues} values: send fewer at a time`
        if (sign !== comma) this.#depth += 1
        if (this.#depth > maxDepth) return `must not be nested more than ${maxDepth} levels deep`
      } else if (sign === closeArray || sign === closeObject) this.#depth -= 1
    }
    this.#position = end
    return undefined
  }
}
