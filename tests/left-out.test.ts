import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { tools } from '../scripts/test-tools.mjs'

const root = resolve(import.meta.dirname, '..')
const { TAPCHIP_TEST_ALL: _, ...env } = process.env
const run = (args: string[], more: Record<string, string>) =>
  spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...env, TAPCHIP_TEST_BROWSER: '/nonexistent', ...more },
  })

test('a tool that cannot be installed stops nothing, but where all tests must run', () => {
  const here = run(['scripts/install-browser.mjs'], {})
  expect([here.status, here.stderr]).toEqual([
    0,
    expect.stringMatching(/browser cannot run.*other tests run/s),
  ])
  expect(run(['scripts/install-browser.mjs'], { TAPCHIP_TEST_ALL: '1' }).status).toBe(1)
})

test('tests whose tool is missing are left out, and the end says which, why, and what to install', () => {
  const files = ['tests/e2e/foreign-page.test.ts', 'tests/values/csv-reader.test.ts']
  const { status, stdout, stderr } = run(['node_modules/vitest/vitest.mjs', 'run', ...files], {})
  expect([status, stdout]).toEqual([0, expect.stringMatching(/csv-reader.*Test Files.*1 passed/s)])
  expect(stderr).toMatch(
    /Not run on this machine:\n.*a browser \(.*tests\/e2e\/foreign-page.*\n.*\/nonexistent.*apt-get install chromium/,
  )
})

test('every file that may be left out is there', () => {
  const named = tools.flatMap(({ tests }) => tests).map((name) => name.replace('/**', ''))
  expect(named).toContain('tests/pcsc')
  expect(named.filter((name) => !existsSync(resolve(root, name)))).toEqual([])
})

const known = new Map<string, string[]>()
function importsOf(file: string): string[] {
  const before = known.get(file)
  if (before) return before
  const text = existsSync(resolve(root, file)) ? readFileSync(resolve(root, file), 'utf8') : ''
  const paths = [...text.matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, path = '']) =>
    join(file, '..', path),
  )
  const imports = paths.filter((path) => path.startsWith('tests/'))
  known.set(file, imports)
  return imports
}

test.each([
  ['a browser', 'tests/support/browser.ts'],
  ['a mail server', 'tests/support/mail-server.ts'],
])('every file that uses %s may be left out', (what, support) => {
  const uses = (file: string, seen = new Set<string>()): boolean => {
    if (file === support || seen.has(file)) return file === support
    seen.add(file)
    return importsOf(file).some((path) => uses(path, seen))
  }
  const files = readdirSync(resolve(root, 'tests'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => `tests/${file}`)
  const named = tools.find((tool) => tool.what === what)?.tests
  expect(files.filter((file) => uses(file)).sort()).toEqual(named)
})
