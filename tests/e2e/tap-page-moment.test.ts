import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringsOf } from '../../src/daemon/pages/tap/strings/strings.ts'
import { openPhones, type Phones } from '../support/phone.ts'
import { moved, watchPlaces } from '../support/still-page.ts'
import { action, bob, chips, phoneAt, startTapPages, type TapPages } from '../support/tap-page.ts'

// What a person has after a claim: the piece in a frame, to share and to print.

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

const setPublicPages = async (publicPages: boolean) => {
  const token = readFileSync(join(daemon.ready.dataDir, 'admin.token'), 'utf8')
  const answer = await fetch(`${daemon.ready.url}/admin/teams/1`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ publicPages }),
  })
  expect(answer.status).toBe(200)
}

test('a claim that is confirmed is framed once, moves nothing, and can be shared and printed on one page', async () => {
  await setPublicPages(true)
  const phone = await phoneAt(daemon, phones, { viewport: { width: 320, height: 664 } })
  await phone.context.addInitScript(watchPlaces)
  await phone.context.addInitScript(`
    window.shared = []; window.printed = 0; window.moments = []
    navigator.share = async (data) => void shared.push(data)
    print = () => { printed += 1 }
    addEventListener('transitionrun', ({ target, propertyName }) => {
      if (target.closest('.moment')) moments.push(propertyName)
    })`)
  const page = await phone.tap(chips.jacket(1))
  const claim = action(page, 'claim')
  const moment = claim.card.locator('.moment')
  await claim.send('bob.eth')
  await claim.is('confirmed')
  await expect.poll(() => moment.isVisible()).toBe(true)
  await expect.poll(() => page.evaluate('moments')).toContain('clip-path')
  expect(await moved(page)).toEqual([])
  const text = (await moment.innerText()).replace(/\s+/g, ' ')
  expect(text).toContain('Jacket #1')
  expect(text).toMatch(/Owner (bob\.eth|0xde70…fb77)/i)
  expect(text).toMatch(/Token 1 Date \w+ \d+, \d{4}/)
  await moment.getByRole('button', { name: 'Share' }).tap()
  const url = await page.evaluate<string>('shared[0].url')
  expect(url).toMatch(/\/p\/[\w-]+$/)
  expect((await fetch(url)).status).toBe(200)
  await moment.getByRole('button', { name: 'Print' }).tap()
  expect(await page.evaluate('printed')).toBe(1)

  await page.emulateMedia({ media: 'print' })
  const printed = (await page.locator('body').innerText()).replace(/\s+/g, ' ')
  expect(printed).toMatch(/^Certificate Jacket #1 Owner .*Contract 0x[0-9a-f]{40} Network /i)
  expect(printed.toLowerCase()).toContain(bob)
  for (const format of ['A4', 'Letter']) {
    const pdf = (await page.pdf({ format })).toString('latin1')
    expect(pdf.match(/\/Type \/Page\b/g), format).toHaveLength(1)
  }
  await page.emulateMedia({ media: 'screen' })

  // Nothing is played again at a reload.
  await page.reload()
  expect(await moment.isVisible()).toBe(true)
  expect(await page.evaluate('moments')).toEqual([])
  await page.close()
})

test('a team without public pages shares nothing, and nothing is played where motion is unwelcome', async () => {
  await setPublicPages(false)
  const phone = await phoneAt(daemon, phones, { reducedMotion: 'reduce', locale: 'fr' })
  await phone.context.addInitScript(
    `window.moments = 0; addEventListener('transitionrun', () => { moments += 1 })`,
  )
  const page = await phone.tap(chips.jacket(2))
  const claim = action(page, 'claim')
  await claim.send('bob.eth')
  await claim.is('confirmed')
  const buttons = claim.card.locator('.moment').getByRole('button')
  expect(await buttons.allInnerTexts()).toEqual([stringsOf({ language: 'fr' }).moment.print])
  expect(await page.evaluate('moments')).toBe(0)
})
