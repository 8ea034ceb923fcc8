import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'
import { spawnCli } from '../support/cli-process.ts'
import { environmentOf, openConsole, rootToken, startConsole } from '../support/console.ts'
import { chipUid } from '../support/phygitals.ts'
import { chips, startTapPages, type TapPages } from '../support/tap-page.ts'

let daemon: TapPages
let browser: Browser
const folder = mkdtempSync(join(tmpdir(), 'tapchip-console-batches-'))
beforeAll(async () => {
  daemon = await startTapPages({ TAPCHIP_ADMIN_TOKEN: rootToken })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await daemon.stop()
  rmSync(folder, { recursive: true, force: true })
})

const cli = async (args: readonly string[], token = rootToken): Promise<string> => {
  const env = { HOME: folder, TAPCHIP_TEAM: 'Acme', ...environmentOf(daemon, token) }
  const running = spawnCli([...args, '--json'], env, folder)
  expect([await running.ended, running.stderr()]).toEqual([0, expect.anything()])
  return running.stdout()
}

const sheet = (name: string, rows: readonly string[]): string => {
  const path = join(folder, `${name}.csv`)
  writeFileSync(path, `${rows.join('\n')}\n`)
  return path
}

/** A batch that the daemon runs. @returns its ID */
async function batch(name: string, rows: readonly string[], flags: readonly string[] = [], token?: string) {
  const args = ['chips', 'apply', '--file', sheet(name, rows), '--name', name, '--detach', '--yes', ...flags]
  return String(JSON.parse(await cli(args, token)).id)
}

const range = (count: number) => Array.from({ length: count }, (_, n) => n)
const labels = (prefix: string, count = 3) => [
  'uid,label',
  ...range(count).map((n) => `${chips.jacket(n + 1)},${prefix} ${n + 1}`),
]
/** Rows of new chips, so many that their batch takes until it is paused. */
const many = (count: number) => [
  'uid,label,chipGroup,keySet',
  ...range(count).map((n) => `${chipUid(5000 + n)},Coat ${n + 1},Coats,101`),
]

async function tokenOf(name: string, scopes: readonly string[]): Promise<string> {
  const answer = await fetch(`${daemon.ready.admin}/admin/admin-tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, scopes, team: 'Acme' }),
  })
  return String(JSON.parse(await answer.text()).token)
}

async function batchesThere(): Promise<{ id: string; undoes: string | null }[]> {
  const answer = await fetch(`${daemon.ready.admin}/admin/batches`, {
    headers: { authorization: `Bearer ${rootToken}` },
  })
  return JSON.parse(await answer.text())
}

/** What the audit log says of a batch, newest first. */
async function audited(id: string): Promise<string[]> {
  const entries: { action: string }[] = JSON.parse(await cli(['audit', 'list', '--batch', id]))
  return entries.map(({ action }) => action).filter((action) => action.startsWith('batches.'))
}

const state = (page: Page) => page.locator('main[data-screen=batch] .screen-head .badge')

/** Presses a button, and the one of that name in the question. */
async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click()
  const question = page.getByRole('dialog')
  await question.getByText('Team Acme').waitFor()
  expect(await question.innerText()).toContain(new URL(daemon.ready.url).host)
  await question.getByRole('button', { name, exact: true }).click()
  await question.waitFor({ state: 'detached' })
}

/** What the page is answered that sends an act without its button: status and code. */
const send = (page: Page, id: string, act: string) =>
  page.evaluate(`fetch('/api/admin/batches/${id}/${act}', {
    method: 'POST', body: '{}', headers: {
      'x-console-session': localStorage.getItem('tapchip-console-session'), 'content-type': 'application/json' }
  }).then(async (response) => response.status + ' ' + (await response.json()).code)`)

test.for([
  ['en-GB', 'No batches yet', 'No reader has set up chips'],
  ['de-DE', 'Noch keine Stapel', 'kein Lesegerät'],
] as const)('without batches and readers, screens say what makes some: %s', async ([locale, none, idle]) => {
  const console = await startConsole(environmentOf(daemon))
  const { page, complaints } = await openConsole(console, browser, { locale })
  for (const [path, text] of [
    ['/batches', none],
    ['/table', idle],
  ] as const) {
    await page.goto(console.origin + path)
    await page.getByText(text).waitFor()
    expect(await audit(page)).toEqual([])
  }
  expect(complaints).toEqual([])
})

test('a batch shows old and new, is undone, and the act is in the audit log', async () => {
  const id = await batch('spring', labels('Spring'))
  const console = await startConsole(environmentOf(daemon))
  const { page } = await openConsole(console, browser)
  await page.goto(`${console.origin}/batches`)
  await page.getByRole('link', { name: 'spring' }).click()
  await expect.poll(() => page.url()).toBe(`${console.origin}/batches/${id}`)
  await expect.poll(() => state(page).innerText()).toMatch('Done')
  const rows = page.locator('main[data-screen=batch] tbody tr[data-index]')
  await expect.poll(() => rows.first().innerText()).toMatch(/label\s+–\s+→\s+Spring 1/)
  expect(await page.getByRole('button', { name: /^(Pause|Approve|Cancel)$/ }).count()).toBe(0)
  await press(page, 'Undo')
  await expect.poll(() => state(page).innerText()).toMatch('Undone')
  expect(JSON.parse(await cli(['chips', 'show', chips.jacket(1)])).label).toBeNull()
  const undo = (await batchesThere()).find(({ undoes }) => undoes === id)
  expect(await audited(String(undo?.id))).toContain('batches.start')
})

test('pauses, resumes and cancels a batch of 5,000 rows, of which those in view are in the page', async () => {
  const id = await batch('coats', many(5000), ['--rate', '20'])
  const console = await startConsole(environmentOf(daemon))
  const { page, complaints } = await openConsole(console, browser)
  await page.goto(`${console.origin}/batches`)
  await expect
    .poll(() => page.locator('main').innerText())
    .toMatch(/of 5,000 rows\s+\d+ rows\/s · \d+ min left/)
  expect(await audit(page)).toEqual([])
  await page.goto(`${console.origin}/batches/coats`)
  await expect.poll(() => state(page).innerText()).toMatch('Running')
  await press(page, 'Pause')
  await expect.poll(() => state(page).innerText()).toMatch('Paused')
  await page.getByText('Paused by root').waitFor()
  const table = page.getByRole('table', { name: 'Rows of the batch' })
  expect(await table.getAttribute('aria-rowcount')).toBe('5001')
  const rows = table.locator('tr[data-index]')
  await rows.first().locator('a').focus()
  // Each page is fetched once its end is near.
  await expect
    .poll(async () => {
      await page.keyboard.press('End')
      return page.evaluate('Number(document.activeElement.closest("tr")?.ariaRowIndex)')
    })
    .toBeGreaterThan(900)
  expect(await rows.count()).toBeLessThan(60)
  await expect.poll(() => rows.last().innerText()).toMatch('Pending')
  expect(await audit(page)).toEqual([])
  await press(page, 'Resume')
  await expect.poll(() => state(page).innerText()).toMatch('Running')
  await press(page, 'Pause')
  await expect.poll(() => state(page).innerText()).toMatch('Paused')
  await press(page, 'Cancel')
  await expect.poll(() => state(page).innerText()).toMatch('Cancelled')
  expect(await audited(id)).toEqual([
    'batches.cancel',
    'batches.pause',
    'batches.resume',
    'batches.pause',
    'batches.start',
  ])
  expect(complaints).toEqual([])
})

test('approves what somebody else proposed, and says why not what one proposed oneself', async () => {
  const maria = await tokenOf('maria', ['edit'])
  const hers = await batch('hers', labels('Autumn'), ['--propose', '--note', 'As agreed'], maria)
  const own = await batch('own', labels('Winter'), ['--propose'])
  const console = await startConsole(environmentOf(daemon))
  const { page } = await openConsole(console, browser)
  await page.goto(`${console.origin}/batches/${own}`)
  await page.getByText('You proposed it yourself, so somebody else has to approve it').waitFor()
  expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  expect(await send(page, own, 'approve')).toBe('403 own_batch')
  await page.goto(`${console.origin}/batches/${hers}`)
  await page.getByText('As agreed').waitFor()
  await page.getByText('→ Autumn 1').waitFor()
  await press(page, 'Approve')
  await expect.poll(() => state(page).innerText()).toMatch('Done')
  expect(await audited(hers)).toContain('batches.approve')
})

test('failed rows stand alone with their reasons, and are tried again', async () => {
  await batch('mixed', [...labels('Mixed'), '04000000000000,Nobody'])
  const console = await startConsole(environmentOf(daemon))
  const { page } = await openConsole(console, browser)
  await page.goto(`${console.origin}/batches/mixed`)
  await page.getByRole('button', { name: 'Failed 1' }).click()
  const rows = page.locator('main[data-screen=batch] tbody tr[data-index]')
  await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringMatching(/no such chip[\s\S]*Failed/)])
  // So that a colleague sees the same.
  expect(new URL(page.url()).search).toBe('?rows=failed')
  await press(page, 'Resume')
  await expect.poll(() => state(page).innerText()).toMatch('Done')
})

test('a key that may only read is shown no rows and no acts, and the daemon refuses them', async () => {
  const id = await batch('held', labels('Held'), ['--at', '2099-01-01T00:00:00Z'])
  const console = await startConsole(environmentOf(daemon, await tokenOf('looks', ['read'])))
  const { page } = await openConsole(console, browser, { viewport: { width: 320, height: 700 } })
  await page.goto(`${console.origin}/batches/${id}`)
  await page.getByText('Your key may not see its rows').waitFor()
  expect(await page.getByRole('button', { name: /^(Approve|Pause|Resume|Cancel|Undo)$/ }).count()).toBe(0)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  expect(await audit(page)).toEqual([])
  for (const act of ['pause', 'resume', 'approve', 'cancel', 'undo', 'plan', 'start']) {
    const answer = await send(page, id, act)
    expect([act, answer]).toEqual([act, '403 scope_missing'])
  }
})

test('a reader that sets chips up stands on the table, with its last chip', async () => {
  const console = await startConsole(environmentOf(daemon))
  const { page } = await openConsole(console, browser, { colorScheme: 'dark' })
  await page.goto(`${console.origin}/table`)
  await page.getByText('No reader has set up chips').waitFor()
  const keySet = {
    id: 7,
    metaReadKey: '11'.repeat(16),
    fileReadKey: '22'.repeat(16),
    appMasterKey: '33'.repeat(16),
    diversification: 'an10922',
    macInputFrom: 'd',
  }
  writeFileSync(join(folder, 'keys.json'), JSON.stringify(keySet), { mode: 0o600 })
  await cli(['key-sets', 'create', '--file', join(folder, 'keys.json')])
  const args = ['nfc', 'provision', '--key-set', '7', '--chip-group', 'Virtual', '--reader', 'emulator']
  const { uid } = JSON.parse(await cli(args))
  const reader = page.locator('main[data-screen=table] .reader')
  await expect.poll(() => reader.innerText()).toMatch(/1\s+chips done[\s\S]*Last chip\s+\S?\s*Set up/)
  expect(await audit(page)).toEqual([])
  await reader.getByRole('link', { name: uid }).click()
  await page.locator('main[data-screen=chip]').waitFor()
})
