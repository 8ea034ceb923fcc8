import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isPartial, partialOf, replaceFile, replaceLargeFile } from '../../src/values/files.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-replace-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const ways: [string, (path: string, text: string) => void | Promise<void>][] = [
  ['at once', (path, text) => replaceFile(path, text)],
  ['flushed', (path, text) => replaceFile(path, text, { flush: true })],
  ['large', (path, text) => replaceLargeFile(path, text)],
]

test.each(ways)(
  'a file that is replaced %s is its owner’s alone, and nothing else is left',
  async (_, replace) => {
    const path = join(dir, 'file')
    writeFileSync(path, 'old')
    chmodSync(path, 0o644)
    await replace(path, 'new')
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(dir)).toEqual(['file'])
  },
)

test.each(ways)('where it cannot be replaced %s, no part of it is left', async (_, replace) => {
  // A folder with something in it takes no file's place.
  mkdirSync(join(dir, 'taken', 'inside'), { recursive: true })
  await expect((async () => replace(join(dir, 'taken'), 'new'))()).rejects.toThrow()
  expect(readdirSync(dir)).toEqual(['taken'])
})

test.each(ways)('no link that somebody planted beside it is followed %s', async (_, replace) => {
  const path = join(dir, 'file')
  const victim = join(dir, 'victim')
  writeFileSync(victim, 'untouched')
  symlinkSync(victim, path)
  symlinkSync(victim, `${path}.${process.pid}.new`)
  await replace(path, 'new')
  expect([readFileSync(path, 'utf8'), readFileSync(victim, 'utf8')]).toEqual(['new', 'untouched'])
})

test('the name of the part cannot be guessed, and is cleaned up after a kill', () => {
  const names = [1, 2].map(() => partialOf('tapchip.db'))
  expect(new Set(names).size).toBe(2)
  expect(names.every(isPartial)).toBe(true)
  expect(['tapchip.db', 'a.new', 'instance'].some(isPartial)).toBe(false)
})
