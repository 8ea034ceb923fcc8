import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { samples } from '../../src/daemon/pages/tap/samples.ts'
import { type CliHome, ends, withDaemon } from '../support/cli.ts'
import { seed } from '../support/seeds.ts'

let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
})

const states = samples(new Date()).map(({ state }) => state)

/** The paths of `GET /admin/pages/preview`, by state. */
async function written(...args: string[]): Promise<Record<string, string>> {
  const { pages } = (await here.json('pages', 'preview', ...args)) as {
    pages: { state: string; file: string }[]
  }
  return Object.fromEntries(pages.map(({ state, file }) => [state, readFileSync(file, 'utf8')]))
}

test('every state of the page is written with the look of the team, loads nothing of others, and sends nothing', async () => {
  await here.json('teams', 'edit', 'Acme', '--brand-name', 'Acme <Outdoor>', '--brand-color', '#7a1f5c')
  const { stdout } = await here.run('pages', 'preview', '--out', 'out')
  expect(stdout).toBe(`${join(here.home, 'out/index.html')}\n`)
  expect(readdirSync(join(here.home, 'out')).sort()).toEqual(
    ['index.html', ...states.map((one) => `${one}.html`)].sort(),
  )
  const index = readFileSync(join(here.home, 'out/index.html'), 'utf8')
  for (const state of states) expect(index).toContain(`<iframe src="${state}.html#piece" sandbox`)

  const all = await written('--out', 'out')
  for (const html of Object.values(all)) {
    expect(html).toMatch(
      /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; .*form-action 'none'/,
    )
    expect(html).not.toMatch(/<script|media\.example\/[\w-]+\.webp/)
  }
  expect(all.claim).toContain('Acme &lt;Outdoor&gt;')
  expect(all.claim).toContain('#7a1f5c')
  expect(all.claim).toContain('data-action="claim"')
  expect(all.replayed).toContain('This tap was used before')
})

test('one state, in German, shows the item of the team that is named', async () => {
  const one = await written('--state', 'claim-unminted', '--item', 'jacket', '--lang', 'de')
  expect(Object.keys(one)).toEqual(['claim-unminted'])
  expect(one['claim-unminted']).toMatch(/<html lang="de"/)
  expect(one['claim-unminted']).toContain('A shell jacket')
  expect(one['claim-unminted']).toContain('https://img.acme.example/jacket.png')
  ends(await here.run('pages', 'preview', '--item', 'nothing'), 1, 'No such item')
  ends(await here.run('pages', 'preview', '--team', 'nobody'), 1, 'List them: tapchip teams list')
  ends(await here.run('pages', 'preview', '--state', 'nothing'), 2, 'must be one of everything, claim')
  ends(await here.run('pages', 'preview', '--lang', 'xx'), 2, '--lang must be one of en, de, fr, es')
})

test('texts that were exported are imported as they are, and one that is edited stands on the page until {} comes', async () => {
  const { stdout } = await here.run('pages', 'strings', 'export', 'Acme', '--out', 'words.json')
  const file = join(here.home, 'words.json')
  expect(stdout).toBe(`${file}\n`)
  const words = JSON.parse(readFileSync(file, 'utf8'))
  expect(Object.keys(words)).toEqual(['en', 'de', 'fr', 'es'])
  expect(await here.json('pages', 'strings', 'import', 'Acme', '--file', file)).toEqual({ own: 0 })

  words.en['buttons.claim'] = 'Make it mine'
  words.fr['buttons.claim'] = null
  writeFileSync(file, JSON.stringify(words))
  expect(await here.json('pages', 'strings', 'import', '--team', 'Acme', '--file', file)).toEqual({ own: 1 })
  const page = async () => (await written('--state', 'claim', '--lang', 'en')).claim
  expect(await page()).toContain('Make it mine')
  const again = await here.run('pages', 'strings', 'export', 'Acme')
  expect(JSON.parse(again.stdout).en['buttons.claim']).toBe('Make it mine')

  writeFileSync(file, '{}')
  expect(await here.json('pages', 'strings', 'import', 'Acme', '--file', file)).toEqual({ own: 0 })
  expect(await page()).not.toContain('Make it mine')
})

test('of texts of which one is wrong none is imported, and what to do is said', async () => {
  const file = join(here.home, 'wrong.json')
  const imported = (words: unknown) => {
    writeFileSync(file, JSON.stringify(words))
    return here.run('pages', 'strings', 'import', 'Acme', '--file', file)
  }
  ends(await imported({ en: { 'buttons.claim': 'Mine', genuine: 'Fake' } }), 2, 'cannot be replaced')
  ends(await imported({ en: { 'buttons.claim': 'Mine', nothing: 'x' } }), 2, 'there is no such text')
  ends(await imported({ en: { 'buttons.claim': 'Mine {to}' } }), 2, 'this text takes none')
  ends(await imported({ nl: { 'buttons.claim': 'Mijn' } }), 2, 'is no language of the page')
  ends(await imported({ en: ['Mine'] }), 2, 'has to be an object of texts by key')
  ends(await imported({ en: { 'buttons.claim': 1 } }), 2, 'has to be a text or null')
  ends(await here.run('pages', 'strings', 'import', 'Acme'), 2, '--file is missing')
  ends(await here.run('pages', 'strings', 'edit', 'Acme'), 2, 'neither export nor import')
  expect(
    JSON.parse((await here.run('pages', 'strings', 'export', 'Acme')).stdout).en['buttons.claim'],
  ).not.toContain('Mine')
})

test('opens the browser of the machine, says the path where there is none, and leaves a website alone', async () => {
  const bin = join(here.home, 'bin')
  mkdirSync(bin)
  const program = join(bin, process.platform === 'darwin' ? 'open' : 'xdg-open')
  writeFileSync(program, `#!/bin/sh\necho "$@" > ${here.home}/opened\n`)
  chmodSync(program, 0o755)
  here.env.PATH = `${bin}:/bin:/usr/bin`
  const { stdout } = await here.run('pages', 'preview', '--state', 'claim', '--open')
  expect(readFileSync(join(here.home, 'opened'), 'utf8')).toBe(stdout)
  here.env.PATH = join(here.home, 'nothing')
  const nowhere = await here.run('pages', 'preview', '--state', 'claim', '--open')
  ends(nowhere, 0, `No browser could be started here. Open this file in one: ${nowhere.stdout.trim()}`)

  const site = join(here.home, 'site')
  mkdirSync(site)
  writeFileSync(join(site, 'index.html'), 'mine')
  ends(await here.run('pages', 'preview', '--out', site), 2, 'was not written by this command')
  expect(readdirSync(site)).toEqual(['index.html'])
  expect(existsSync(join(site, 'claim.html'))).toBe(false)
})
