import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestDaemon } from '../support/daemon.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'
import { type Place, place } from './in-process.ts'

let [daemon, other]: Awaited<ReturnType<typeof startTestDaemon>>[] = []
let here: Place
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
  other = await startTestDaemon({ seed })
})
afterAll(async () => {
  await daemon?.stop()
  await other?.stop()
})
beforeEach(() => {
  here = place({ TAPCHIP_URL: daemon?.url ?? '', TAPCHIP_API_KEY: acmeKey })
})
afterEach(() => here.remove())

const [uid = ''] = Object.values(uids)
const begun = async () => {
  writeFileSync(join(here.home, 'a.csv'), `uid,redirectUrl\n${uid},https://example.com/${Math.random()}\n`)
  const ran = await here.run('chips', 'edit', '--file', 'a.csv')
  expect(ran.code).toBe(0)
  const id = /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? ''
  return { id, journal: join(here.home, '.local/state/tapchip/batches', `${id}.jsonl`) }
}

test.each(['resume', 'undo'])('batch %s goes to the daemon that the batch began at', async (verb) => {
  const { id, journal } = await begun()
  expect(JSON.parse(readFileSync(journal, 'utf8').split('\n')[0] ?? '')).toMatchObject({
    instance: daemon?.ctx.instance,
  })
  here.env.TAPCHIP_URL = other?.url ?? ''
  const before = readFileSync(journal, 'utf8')
  for (const args of [[], ['--yes']]) {
    const refused = await here.run('batch', verb, id, ...args)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('another daemon')])
    expect(refused.stderr).toContain(`a different daemon is at ${other?.url} now`)
  }
  expect(readFileSync(journal, 'utf8')).toBe(before)
  // The same one under another name is the same one.
  here.env.TAPCHIP_URL = (daemon?.url ?? '').replace('127.0.0.1', 'localhost')
  expect((await here.run('batch', verb, id, '--yes')).code).toBe(0)
})

test('an undo off a terminal needs --yes', async () => {
  const { id } = await begun()
  const refused = await here.run('batch', 'undo', id)
  expect([refused.code, refused.stderr]).toEqual([2, 'Put back 1 chip? Say so: --yes\n'])
  expect((await here.run('batch', 'undo', id, '--yes')).code).toBe(0)
})

test('a group that is edited by flags is a batch of its daemon too', async () => {
  const edit = ['chips', 'edit', '--chip-group', 'Jackets', '--redirect-url', 'https://example.com/group']
  const ran = await here.run(...edit, '--yes')
  expect(ran.code).toBe(0)
  here.env.TAPCHIP_URL = other?.url ?? ''
  const undone = await here.run('batch', 'undo', /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? '', '--yes')
  expect([undone.code, undone.stderr]).toEqual([2, expect.stringContaining('another daemon')])
})

test('a journal that does not say which daemon it was goes on at the same address alone', async () => {
  const { id, journal } = await begun()
  writeFileSync(journal, readFileSync(journal, 'utf8').replace(/"instance":"[^"]*",/, ''))
  expect((await here.run('batch', 'resume', id)).code).toBe(0)
  here.env.TAPCHIP_URL = other?.url ?? ''
  const ran = await here.run('batch', 'resume', id, '--yes')
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(`began at ${daemon?.url}`)])
})
