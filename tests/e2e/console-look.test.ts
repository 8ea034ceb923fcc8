import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'
import { environmentOf, openConsole, rootToken, startConsole } from '../support/console.ts'
import { startTapPages, type TapPages } from '../support/tap-page.ts'

let daemon: TapPages
let browser: Browser
beforeAll(async () => {
  daemon = await startTapPages({ TAPCHIP_ADMIN_TOKEN: rootToken })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await daemon.stop()
})

const admin = async (path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') => {
  const answer = await fetch(`${daemon.ready.admin}${path}`, {
    method,
    headers: { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

const openLook = async (options: Parameters<typeof openConsole>[2] = {}, search = '') => {
  const console = await startConsole(environmentOf(daemon))
  const opened = await openConsole(console, browser, options)
  await opened.page.goto(`${console.origin}/look${search}`)
  await opened.page.locator('main[data-screen=look] iframe').nth(1).waitFor()
  const phone = (scheme: 'light' | 'dark') =>
    opened.page.locator(`[data-scheme=${scheme}] iframe:not([data-waits])`).contentFrame()
  return { ...opened, console, phone }
}

test('the look is tried beside the live page, and saved after a question', async () => {
  const { page, phone, complaints } = await openLook()
  await phone('light').getByRole('heading', { name: 'Field jacket No. 7' }).waitFor()
  // Scripts cannot run in there, so they are told apart by what they look like.
  const drawn = (scheme: 'light' | 'dark') => page.locator(`[data-scheme=${scheme}] iframe`).screenshot()
  expect((await drawn('light')).equals(await drawn('dark'))).toBe(false)
  expect(await audit(page)).toEqual([])

  await page.getByLabel('Name').fill('Acme Works')
  await page.getByLabel('Colour', { exact: true }).fill('#ffee99')
  await page.getByText('3:1').waitFor()
  expect(await audit(page)).toEqual([])
  // The daemon refuses it too, and says the same.
  const take = page.getByRole('button', { name: /^Take #/ })
  const nearest = (await take.innerText()).replace('Take ', '')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  const question = page.getByRole('dialog')
  expect(await question.innerText()).toMatch(new RegExp(`Acme Works.*${daemon.ready.url}.*Team Acme`, 's'))
  await question.getByRole('button', { name: 'Save' }).click()
  await question.getByText(`The nearest that can: ${nearest}`).waitFor()
  await page.keyboard.press('Escape')
  await take.click()
  expect(await page.getByLabel('Colour', { exact: true }).inputValue()).toBe(nearest)
  // Not saved yet, and seen already.
  await phone('light').getByText('Acme Works').waitFor()
  const teams = async () => (await admin('/admin/teams')).body[0].brand
  expect(await teams()).toMatchObject({ name: null, color: null })
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await question.getByRole('button', { name: 'Save' }).click()
  await question.waitFor({ state: 'detached' })
  expect(await teams()).toMatchObject({ name: 'Acme Works', color: nearest, background: null })
  const [entry] = (await admin('/admin/audit?action=teams.edit')).body
  expect(entry).toMatchObject({ target: 'Acme', detail: { brandColor: { from: null, to: nearest } } })
  expect(complaints).toEqual([])
})

test('hostile texts of a team stay in a frame without scripts, origin or forms', async () => {
  const hostile = '"><img src=x onerror=alert(1)><script>parent.hacked = 1</script>'
  await admin('/admin/teams', { name: 'Hostile' })
  const id = (await admin('/admin/teams')).body.find(({ name }: { name: string }) => name === 'Hostile').id
  await admin(`/admin/teams/${id}`, { brand: { name: hostile.slice(0, 80) } }, 'PATCH')
  const { page, phone, console, complaints } = await openLook({}, '?team=Hostile&state=badge&language=fr')
  await phone('dark').getByText('<img src=x').waitFor()
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  const src = `${console.origin}${await page.locator('iframe').first().getAttribute('src')}`
  const answer = await fetch(src)
  const policy = answer.headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(/^sandbox; default-src 'none'; style-src 'nonce-[\w-]+';.*frame-ancestors 'self'$/)
  expect(policy).not.toMatch(/script-src|unsafe|allow-/)
  // Only for a frame, and by its whole path.
  expect((await fetch(src, { headers: { 'sec-fetch-dest': 'document' } })).status).toBe(404)
  expect((await fetch(src.slice(0, -1))).status).toBe(404)
  expect((await fetch(`${console.origin}/previews?team=Hostile&state=badge`)).status).toBe(401)
  // Of a team, nothing but its look is passed on.
  const status = await page.evaluate(`fetch('/api/admin/teams/${id}', {
    method: 'PATCH',
    headers: {
      'content-type': 'application/json',
      'x-console-session': localStorage.getItem('tapchip-console-session'),
    },
    body: JSON.stringify({ brand: {}, publicPages: true }),
  }).then(({ status }) => status)`)
  expect(status).toBe(403)
  expect(complaints).toEqual([])
  // Two teams, and none is chosen.
  await page.goto(`${console.origin}/look`)
  await page.getByText('Choose a team').waitFor()
  expect(await audit(page)).toEqual([])
})
