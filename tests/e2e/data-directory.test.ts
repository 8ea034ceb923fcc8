import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { run, spawnDaemon } from '../support/process.ts'

let dir: string
let data: string
let database: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-e2e-'))
  data = join(dir, 'data')
  database = join(data, 'tapchip.db')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const withoutChain = { TAPCHIP_DEV_CHAIN: 'off' }
const args = (folder = data) => ['--data-dir', folder, '--port', '0']
const start = (folder?: string) => spawnDaemon(args(folder), withoutChain)
const refused = async (...words: string[]) => {
  const ended = await run('tapchipd', args(), withoutChain)
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  for (const word of words) expect(ended.stderr).toContain(word)
  expect(ended.stderr).not.toContain('    at ')
}
const held = async (folder?: string) => (await start(folder)).stop()

describe('a data directory that has held data', () => {
  test.each([
    ['missing', () => rmSync(database)],
    ['empty', () => truncateSync(database)],
  ])('is refused while its database is %s, and nothing is made in its place', async (word, lose) => {
    await held()
    const kept = join(dir, 'kept.db')
    copyFileSync(database, kept)
    lose()
    await refused(word, 'has held data before', 'backup', '--data-dir')
    expect(existsSync(database) && readFileSync(database).length > 0).toBe(false)
    copyFileSync(kept, database)
    await held()
  })

  test('is refused with the database of another installation under the same data key', async () => {
    await held()
    const other = join(dir, 'other')
    await spawnDaemon(args(other), {
      ...withoutChain,
      TAPCHIP_DATA_KEY: readFileSync(join(data, 'data.key'), 'utf8').trim(),
    }).then((daemon) => daemon.stop())
    copyFileSync(join(other, 'tapchip.db'), database)
    await refused('is not the one that this directory has held')
  })

  test('is refused with a damaged database, with what to do in place of a stack', async () => {
    await held()
    writeFileSync(
      database,
      'no database at all, but some text that is long enough to be looked at'.repeat(100),
    )
    await refused('is damaged', 'backup')
  })

  test('keeps a second daemon out also when the file of its lock was removed', async () => {
    const first = await start()
    try {
      rmSync(join(data, 'daemon.lock'))
      await refused('Another tapchipd uses')
    } finally {
      await first.kill()
    }
    await held()
  })
})

test('a first start that ended before it held anything starts again', async () => {
  await held()
  // What a kill leaves between the data key and the database.
  for (const name of ['tapchip.db', 'instance']) rmSync(join(data, name))
  await held()
})

test('a data directory that is a file is refused in words', async () => {
  writeFileSync(data, '')
  await refused('is not a directory', '--data-dir')
})
