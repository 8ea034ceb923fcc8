import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { endpoints } from '../src/daemon/contract/index.ts'

/** The 34 endpoints of the interface. */
const all = [
  'PATCH /chips',
  'GET /chips/find',
  'GET /chips',
  'GET /otps/:id',
  'DELETE /otps/:id',
  'GET /items/:itemId',
  'GET /items',
  'GET /items/:itemId/chips',
  'GET /chip-groups',
  'GET /refs/:id',
  'POST /phygitals/transfer',
  'POST /phygitals/transfer/pullable',
  'POST /phygitals/transfer/self-service',
  'GET /phygitals/transfer-signature',
  'GET /phygitals/transfer-signature/pullable',
  'GET /phygitals/chip',
  'GET /phygitals/claim-registration',
  'POST /phygitals/claim-registration',
  'POST /phygitals/claim-registration/pullable',
  'DELETE /phygitals/claim-registration',
  'PATCH /phygitals/metadata',
  'PATCH /chips/self-service',
  'POST /events/contracts',
  'GET /events/contracts',
  'POST /events',
  'GET /events',
  'PATCH /events/metadata',
  'POST /events/mint',
  'POST /events/mint/self',
  'POST /events/assign/legacy',
  'POST /events/toggle-pause-state',
  'POST /badge-events',
  'POST /badge-events/assign',
  'POST /badge-events/mint',
] as const

const root = resolve(import.meta.dirname, '..')
const textBelow = (folder: string): string =>
  readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n')

const ofTheInterface = Object.entries(endpoints)
  .filter(([, spec]) => spec.part === 'interface')
  .map(([key]) => key)

test('the interface has 34 endpoints', () => {
  expect(new Set(all).size).toBe(34)
})

test('the endpoint table has all of them, and no other', () => {
  expect(ofTheInterface.sort()).toEqual([...all].sort())
})

test('every endpoint has an operation id of its own, which is a name in any language', () => {
  const ids = Object.values(endpoints).map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([])
})

test('every endpoint of the table has a command that calls it', () => {
  const cli = textBelow('src/cli')
  // Commands run batches in their place, and upload files to them. Lists by the page are for the console.
  const forOthers =
    /^POST \/chips\/batch$|^POST \/badge-events\/assign\/undo$|^POST \/admin\/chips\/import(?:\/undo)?$|^POST \/admin\/chips\/apply$|^POST \/phygitals\/transfer\/batch$|\/batches\/:id\/files\/|^GET \/admin\/(?:chips|taps\/pulse|events\/(?:follow|rates)|guestbooks|transactions\/stats|webhooks\/health|batches\/:id\/rows|nfc\/stations)$/
  const missing = Object.keys(endpoints).filter((key) => !cli.includes(`'${key}'`) && !forOthers.test(key))
  expect(missing).toEqual([])
})

test('every endpoint of the table is called by a test', () => {
  const tests = textBelow('tests/daemon') + textBelow('tests/cli')
  const missing = Object.keys(endpoints).filter((key) => {
    const path = key.split(' ')[1] ?? ''
    const pattern = path
      .split('/')
      .map((part) => (part.startsWith(':') ? '[^/\\s]+' : part))
      .join('/')
    return !new RegExp(pattern).test(tests)
  })
  expect(missing).toEqual([])
})
