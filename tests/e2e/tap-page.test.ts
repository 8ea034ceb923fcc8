import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPhones, type Phones } from '../support/phone.ts'
import {
  action,
  chips,
  mediaHost,
  standInForMedia,
  startTapPages,
  type TapPages,
} from '../support/tap-page.ts'

// The page of a chip as a person with a phone meets it.

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

/** A phone of somebody new. */
async function newPhone(options: Parameters<Phones['phone']>[0] = {}) {
  const phone = await phones.phone(options)
  onTestFinished(() => phone.close())
  const asked = await standInForMedia(phone.context)
  return { ...phone, asked, tap: (uid: string) => phone.open(daemon.tapUrl(uid)) }
}

test('the script is small, and kept by browsers under a name that changes with it', async () => {
  const built = readFileSync(resolve(import.meta.dirname, '../../dist/tap-page/page.js'))
  const hash = createHash('sha256').update(built).digest('base64url').slice(0, 16)
  const url = `${daemon.ready.url}/t/assets/page-${hash}.js`
  const head = await fetch(url, { method: 'HEAD' })
  expect(Object.fromEntries(head.headers)).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    'content-length': String(built.length),
    'x-content-type-options': 'nosniff',
  })
  const sent = Buffer.from(await (await fetch(url)).arrayBuffer())
  expect([head.status, sent.equals(built)]).toEqual([200, true])
  expect(gzipSync(built).length).toBeLessThan(8000)
  expect((await fetch(url.replace(hash, 'x'))).status).toBe(404)
})

test('without JavaScript, everything works as forms do', async () => {
  const phone = await newPhone({ javaScriptEnabled: false })
  for (const [uid, kinds] of [
    [chips.jacket(2), ['claim']],
    [chips.party(3), ['badge', 'guestbook']],
  ] as const) {
    const page = await phone.tap(uid)
    for (const kind of kinds) {
      await action(page, kind).send('nobody-here.eth')
      await action(page, kind).is('failed')
      await action(page, kind).send('bob.eth')
      await page.waitForURL(/\/t\?/)
      await expect
        .poll(async () => {
          await page.reload()
          return action(page, kind).status.getAttribute('data-state')
        })
        .toBe('confirmed')
    }
  }
})

test('hostile metadata is text, and stays on a narrow screen whose text is twice as large', async () => {
  const phone = await newPhone({ viewport: { width: 320, height: 640 } })
  const page = await phone.tap(chips.hostile)
  const isWide = () => page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
  expect(await isWide()).toBe(false)
  await page.evaluate('document.documentElement.style.fontSize = "200%"')
  expect(await isWide()).toBe(false)
  expect(await page.locator('img[onerror], [onplay], main script, main style').count()).toBe(0)
  expect(new Set(phone.asked)).toEqual(new Set([mediaHost]))
  expect(phone.complaints).toEqual([])
})

test('a video begins by itself, but for somebody who prefers less motion', async () => {
  const plays = async (reducedMotion: 'reduce' | 'no-preference') => {
    const phone = await newPhone({ reducedMotion })
    await phone.context.addInitScript(
      'window.plays = 0; HTMLMediaElement.prototype.play = async () => void window.plays++',
    )
    const page = await phone.tap(chips.film)
    await page.waitForLoadState('load')
    expect(await page.locator('video[controls][muted]:not([autoplay])').count()).toBe(1)
    return page.evaluate('window.plays')
  }
  expect([await plays('no-preference'), await plays('reduce')]).toEqual([1, 0])
})
