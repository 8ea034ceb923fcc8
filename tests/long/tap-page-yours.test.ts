import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPhones, type Phones } from '../support/phone.ts'
import { alice } from '../support/seeds.ts'
import { action, bob, chips, phoneAt, startTapPages, type TapPages } from '../support/tap-page.ts'

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

const newPhone = (options?: Parameters<Phones['phone']>[0]) => phoneAt(daemon, phones, options)

const ownerOf = (page: Page) => page.locator('[data-card=owner]').textContent()
const explanation = (page: Page) => action(page, 'claim').card.locator('.explain').innerText()

/** A wallet that this page was connected to before. It counts what it is asked. @param accounts JavaScript */
const walletWith = (accounts: string) => `
  window.asked = []
  window.ethereum = {
    request: ({ method }) => {
      asked.push(method)
      return ${accounts}
    },
  }`

test('a piece is yours in the browser that claimed it, and somebody’s in any other', async () => {
  const phone = await newPhone()
  const first = await phone.tap(chips.jacket(1))
  await expect.poll(() => ownerOf(first)).toMatch(/alice\.eth/)
  expect(await ownerOf(first)).not.toContain('yours')
  expect(await explanation(first)).toContain('If it is yours now, enter your wallet')
  await action(first, 'claim').send('bob.eth')
  await action(first, 'claim').is('confirmed')
  // Without another load.
  await expect.poll(() => ownerOf(first)).toMatch(/\(yours\).*bob\.eth/)
  const second = await phone.tap(chips.jacket(1))
  await expect.poll(() => ownerOf(second)).toMatch(/\(yours\).*bob\.eth/)
  await expect.poll(() => explanation(second)).toMatch(/^It is yours\..*bob\.eth loses it/)
  const other = await (await newPhone()).tap(chips.jacket(1))
  await expect.poll(() => ownerOf(other)).toContain('bob.eth')
  expect(await ownerOf(other)).not.toContain('yours')
  expect(await explanation(other)).toContain('bob.eth loses it')
})

test('a piece is yours if its owner’s wallet is connected already; no wallet is made to ask for that', async () => {
  const phone = await newPhone()
  await phone.context.addInitScript(
    walletWith(`Promise.resolve(method === 'eth_accounts' ? ['${alice}'] : [])`),
  )
  const page = await phone.tap(chips.jacket(2))
  await expect.poll(() => ownerOf(page)).toMatch(/\(yours\).*alice\.eth/)
  await expect.poll(() => explanation(page)).toMatch(/^It is yours\./)
  expect(await page.evaluate('asked')).toEqual(['eth_accounts'])
  const other = await newPhone()
  await other.context.addInitScript(walletWith(`Promise.resolve(['${bob}'])`))
  const theirs = await other.tap(chips.jacket(3))
  await expect.poll(() => ownerOf(theirs)).toContain('alice.eth')
  await expect.poll(() => theirs.evaluate('asked')).toEqual(['eth_accounts'])
  expect(await ownerOf(theirs)).not.toContain('yours')
})
