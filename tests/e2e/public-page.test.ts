import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { stringsOf } from '../../src/daemon/pages/tap/strings/strings.ts'
import { audit } from '../support/axe.ts'
import { openPhones, type Phones } from '../support/phone.ts'
import { chips, phoneAt, startTapPages, type TapPages } from '../support/tap-page.ts'

// The page of a piece, which everyone sees who has its address.

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
  await admin('PATCH', 'teams/1', { publicPages: true })
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

async function admin(method: string, path: string, body?: object) {
  const token = readFileSync(join(daemon.ready.dataDir, 'admin.token'), 'utf8').trim()
  const answer = await fetch(`${daemon.ready.url}/admin/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  expect(answer.status).toBe(200)
  return answer.json()
}
const withPage = z.object({ publicPage: z.string() })
const pageOf = async (uid: string): Promise<string> =>
  withPage.parse(await admin('GET', `chips/${uid}`)).publicPage

const looks = [
  ['en', 'light', {}],
  ['de', 'dark', { name: 'Acme Outdoor', color: '#7a1f5c', logoUrl: 'https://img.acme.example/logo.png' }],
  ['fr', 'light', {}],
  ['es', 'dark', { background: '#fff4e0' }],
] as const

test.each(looks)(
  'axe finds nothing, and nothing is wider than a small phone, with much and with little: %s, %s, %j',
  async (language, colorScheme, brand) => {
    await admin('POST', `chips/${chips.hostile}/notes`, { text: 'x'.repeat(500) })
    if (Object.keys(brand).length > 0) await admin('PATCH', 'teams/1', { brand })
    const viewport = { width: 320, height: 568 }
    const phone = await phoneAt(daemon, phones, { locale: language, colorScheme, viewport })
    for (const uid of [chips.hostile, chips.jacket(1), chips.party(1)]) {
      const page = await phone.open(await pageOf(uid))
      const share = page.locator('[data-share] button')
      await share.waitFor()
      expect(await share.innerText()).toBe(stringsOf({ language }).publicPage.share)
      expect(await page.locator('html').getAttribute('lang')).toBe(language)
      expect(await page.locator('[data-story]').count()).toBeGreaterThan(0)
      expect(await audit(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
      await page.close()
    }
    expect(phone.complaints).toEqual([])
  },
)

test('is shared by the phone, else copied, else its address is named; without JavaScript and on paper it is all there', async () => {
  const url = await pageOf(chips.jacket(2))
  const { publicPage } = stringsOf({ language: 'en' })
  const pressed = async (script: string) => {
    const phone = await phoneAt(daemon, phones)
    await phone.context.addInitScript(script)
    const page = await phone.open(url)
    await page.locator('[data-share] button').tap()
    return page
  }
  const set = (name: string, value: string) =>
    `Object.defineProperty(navigator, '${name}', { value: ${value}, configurable: true });`
  const sheet = await pressed(`window.shared = []; ${set('share', 'async (data) => void shared.push(data)')}`)
  await expect.poll(() => sheet.evaluate('shared[0]?.url')).toBe(url)
  const copied = await pressed(
    `window.copies = []; ${set('share', 'undefined')}${set('clipboard', '{ writeText: async (text) => void copies.push(text) }')}`,
  )
  await expect.poll(() => copied.locator('[data-share] [aria-live]').innerText()).toBe(publicPage.shareCopied)
  expect(await copied.evaluate('copies')).toEqual([url])
  const neither = await pressed(set('share', 'undefined') + set('clipboard', 'undefined'))
  await expect
    .poll(() => neither.locator('[data-share] [aria-live]').innerText())
    .toBe(publicPage.shareFailed)

  const plain = await (await phoneAt(daemon, phones, { javaScriptEnabled: false })).open(url)
  for (const text of ['Jacket #2', 'A shell jacket.', 'Size'])
    expect(await plain.getByText(text).first().isVisible(), text).toBe(true)
  expect(await plain.locator('[data-story]').first().isVisible()).toBe(true)
  await copied.emulateMedia({ media: 'print' })
  expect(await copied.getByRole('button').count()).toBe(0)
  expect(await copied.locator('body').innerText()).toContain('A shell jacket.')
})
