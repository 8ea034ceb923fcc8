import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Journal } from '../../src/daemon/chain/dev-chain/journal.ts'
import { limitFiles } from '../support/full-disk.ts'

let dir: string
let journal: Journal
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-journal-'))
  journal = new Journal(dir)
  journal.begin(0)
})
afterEach(() => {
  journal.close()
  rmSync(dir, { recursive: true, force: true })
})

const raws = (...numbers: number[]): Hex[] => numbers.map((number): Hex => `0x${String(number).repeat(200)}`)
const keep = (raw: Hex[]) => {
  for (const entry of journal.append(raw)) journal.settle(entry, true)
}
const kept = (since = 0) => [...new Journal(dir).readSince(since)]
const part = (number: number) => join(dir, `sent-${String(number).padStart(8, '0')}.log`)

test('what the chain refuses is struck out in place, and nothing else', () => {
  const entries = journal.append(raws(1, 2, 3))
  expect(kept()).toEqual(raws(1, 2, 3))
  const size = readFileSync(part(0)).length
  for (const [index, entry] of entries.entries()) journal.settle(entry, index !== 1)
  expect(kept()).toEqual(raws(1, 3))
  expect(readFileSync(part(0))).toHaveLength(size)
})

test('what the chain has not answered when a part begins stands in that one too, and is struck out of both', () => {
  const [taken, refused] = journal.append(raws(1, 2))
  journal.begin(1)
  // The state that the part belongs to may have been taken before the chain got them.
  expect(kept(1)).toEqual(raws(1, 2))
  if (!taken || !refused) throw new Error('nothing was written down')
  journal.settle(taken, true)
  journal.settle(refused, false)
  expect(kept(0)).toEqual([...raws(1), ...raws(1)])
  keep(raws(3))
  journal.begin(2)
  expect(kept(2)).toEqual([])
})

test('half a line that a power cut left does not spoil the one after it', () => {
  keep(raws(1))
  journal.close()
  writeFileSync(part(0), `${raws(1)[0]}\n${raws(2)[0]?.slice(0, 99)}`)
  journal.begin(0)
  keep(raws(3))
  expect(kept()).toEqual(raws(1, 3))
})

test('where there is no room for all of them none is written, and what came before goes on', () => {
  keep(raws(1))
  // As a full disk does it: the file takes no more than so much.
  const entries = () => journal.append(raws(...Array.from({ length: 9 }, (_, index) => index)))
  const before = readFileSync(part(0), 'utf8')
  const lift = limitFiles(300)
  try {
    expect(entries).toThrow(/EFBIG/)
    expect(() => journal.begin(7)).not.toThrow()
  } finally {
    lift()
  }
  expect(readFileSync(part(0), 'utf8')).toBe(before)
  keep(raws(2))
  expect(kept()).toEqual(raws(1, 2))
  expect(readdirSync(dir)).toEqual(['sent-00000000.log', 'sent-00000007.log'])
})
