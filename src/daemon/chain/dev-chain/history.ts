import { TimeSlice } from '../../../values/time-slices.ts'

export interface History {
  /** At least this many of the latest transactions, plus the others in their blocks. */
  transactions: number
  /** At most this many of the latest blocks. */
  blocks: number
}

interface Element {
  from: number
  to: number
  block: number
}

/** Finds an element's block number: near its beginning, or at its end. */
const blockOf = {
  blocks: (json: Buffer, { from, to }: Omit<Element, 'block'>) =>
    /"number":"(0x[0-9a-f]+)"/.exec(json.toString('latin1', from, Math.min(to, from + 2000)))?.[1],
  transactions: (json: Buffer, { to }: Omit<Element, 'block'>) =>
    /"block_number":(\d+)\}$/.exec(json.toString('latin1', Math.max(0, to - 40), to))?.[1],
}
type Name = keyof typeof blockOf
const isName = (key: string): key is Name => Object.hasOwn(blockOf, key)

const [quote, backslash, brace, bracket, braceEnd, bracketEnd] = [0x22, 0x5c, 0x7b, 0x5b, 0x7d, 0x5d] as const

/**
 * Removes old transactions, receipts, and blocks from a state of anvil_dumpState: they are most of it, and
 * anvil does not need them. Balances, code, and storage stay. The text is cut, not parsed, because objects
 * would need many times the memory.
 */
export async function withoutOld(json: Buffer, history: History): Promise<Buffer> {
  const { blocks, transactions } = await elementsOf(json)
  const numbers = transactions.map(({ block }) => block).sort((a, b) => b - a)
  const newest = blocks.reduce((highest, { block }) => Math.max(highest, block), 0)
  const oldest = Math.max(numbers[history.transactions - 1] ?? 0, newest - history.blocks + 1)
  const parts: Buffer[] = []
  let done = 0
  for (const elements of [blocks, transactions]) {
    const [first, last] = [elements[0], elements.at(-1)]
    if (!first || !last) continue
    parts.push(json.subarray(done, first.from))
    const kept = elements.filter(({ block }) => block >= oldest)
    for (const [index, { from, to }] of kept.entries())
      parts.push(...(index > 0 ? [comma] : []), json.subarray(from, to))
    done = last.to
  }
  return Buffer.concat([...parts, json.subarray(done)])
}

const comma = Buffer.from(',')

/** The elements of both arrays in text order, in which blocks come first. */
async function elementsOf(json: Buffer): Promise<Record<Name, Element[]>> {
  const found: Record<Name, Element[]> = { blocks: [], transactions: [] }
  let depth = 0
  let key = ''
  let from = 0
  let steps = 0
  const slice = new TimeSlice()
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]
    if (byte === quote) {
      const end = endOfString(json, at)
      if (depth === 1) key = json.toString('latin1', at + 1, end)
      at = end
    } else if (byte === brace || byte === bracket) {
      if (depth === 2) from = at
      depth += 1
    } else if (byte === braceEnd || byte === bracketEnd) {
      depth -= 1
      if (depth !== 2 || !isName(key)) continue
      const block = blockOf[key](json, { from, to: at + 1 })
      if (block === undefined) throw new Error(`an element of ${key} in the state names no block`)
      found[key].push({ from, to: at + 1, block: Number(block) })
    }
    steps += 1
    if (steps % 1000 === 0 && slice.shouldYield) await slice.next()
  }
  return found
}

function endOfString(json: Buffer, start: number): number {
  for (let end = start; ; ) {
    end = json.indexOf(quote, end + 1)
    if (end < 0) throw new Error('a text in the state does not end')
    let escapes = 0
    while (json[end - 1 - escapes] === backslash) escapes += 1
    if (escapes % 2 === 0) return end
  }
}
