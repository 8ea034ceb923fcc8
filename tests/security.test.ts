import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const text = readFileSync(resolve(root, 'docs/security.md'), 'utf8')

test('every promise of docs/security.md names tests, and each of them is there', () => {
  const named = [...text.matchAll(/`(tests\/[^`]+)`/g)].map(([, file = '']) => file)
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((file) => !existsSync(resolve(root, file)))).toEqual([])
  // Rows of the tables, but for their heads; the scope of everything promises nothing.
  const promises = text.split('\n').filter((line) => /^\| (?!Promise|Scope|`all`)/.test(line))
  expect(promises.filter((line) => !line.includes('`tests/'))).toEqual([])
})

test('what somebody needs who found a hole leads from README to where it is reported', () => {
  expect(readFileSync(resolve(root, 'README.md'), 'utf8')).toContain('(docs/security.md)')
  expect(readFileSync(resolve(root, 'SECURITY.md'), 'utf8')).toContain('(docs/security.md)')
  expect(text).toContain('(../SECURITY.md)')
})
