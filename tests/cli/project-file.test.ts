import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'

let here: CliHome
beforeEach(async () => {
  here = cliHome()
  for (const name of ['prod', 'test'])
    await here.run('context', 'create', name, '--daemon', `https://${name}.example`)
  mkdirSync(join(here.home, 'work/labels'), { recursive: true })
})
afterEach(() => here.remove())

const file = () => join(here.home, 'work/.tapchip.json')
const write = (value: unknown) =>
  writeFileSync(file(), typeof value === 'string' ? value : JSON.stringify(value))
const inProject = (...args: string[]) => {
  here.cwd = join(here.home, 'work/labels')
  return here.run(...args).finally(() => {
    here.cwd = here.home
  })
}
const shown = async (...flags: string[]) => (await inProject('context', 'show', '--json', ...flags)).json()

test('a file in a directory above chooses context and team, and it is shown where they come from', async () => {
  write({ context: 'test', team: 'Acme' })
  expect(await shown()).toMatchObject({
    url: 'https://test.example',
    context: 'test',
    team: 'Acme',
    origin: `context test, chosen by ${file()}`,
    projectFile: file(),
  })
  expect((await here.run('context', 'show', '--json')).json()).toMatchObject({ context: 'prod', team: null })
  expect((await inProject('context', 'list')).stderr).toContain(`${file()} chooses "test"`)
  expect((await inProject('context', 'use', 'prod')).stderr).toContain(`${file()} takes precedence`)
})

test('flags and the environment go before it', async () => {
  write({ context: 'test', team: 'Acme' })
  expect(await shown('--context', 'prod')).toMatchObject({ context: 'prod', team: null, projectFile: null })
  expect(await shown('--url', 'https://x.example')).toMatchObject({ url: 'https://x.example', team: null })
  here.env.TAPCHIP_API_KEY = 'svc_env'
  expect(await shown()).toMatchObject({ context: 'test', team: null })
  here.env.TAPCHIP_CONTEXT = 'prod'
  expect(await shown()).toMatchObject({ context: 'prod' })
  here.env.TAPCHIP_URL = 'https://env.example'
  expect(await shown()).toMatchObject({ url: 'https://env.example', origin: 'TAPCHIP_URL' })
})

test('keys, addresses, and what else does not belong in it are refused by name', async () => {
  for (const [content, message] of [
    [{ context: 'test', apiKey: 'svc_x', url: 'https://evil.example' }, '"apiKey", "url"'],
    [{ contexts: {} }, '"contexts"'],
    [{ context: 5 }, 'context must be a name'],
    ['{', 'is not JSON'],
    ['[]', 'one JSON object'],
    [{ context: 'gone' }, `no context "gone" (${'FILE'})`],
  ] as const) {
    write(content)
    const ran = await inProject('chips', 'list', '--chip-group', 'x')
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(message.replace('FILE', file()))])
    expect(ran.stderr).toContain(file())
    expect(ran.stderr).not.toContain('svc_x')
  }
})

test('a protected context that it chooses still asks for its name', async () => {
  await here.run('context', 'create', 'shop', '--daemon', 'http://127.0.0.1:1', '--protected')
  write({ context: 'shop' })
  here.env.TAPCHIP_API_KEY = 'svc_env'
  const ran = await inProject(
    'chips',
    'edit',
    '--uid',
    '04DE5F1EACC040',
    '--redirect-url',
    'https://x.example',
  )
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--confirm shop')])
})
