import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { samplePage, samples } from '../../src/daemon/pages/tap/samples.ts'
import { audit } from '../support/axe.ts'
import { openPhones, type Phones } from '../support/phone.ts'
import { standInForMedia, startTapPages, type TapPages } from '../support/tap-page.ts'

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

async function newPhone(options: Parameters<Phones['phone']>[0] = {}, at: TapPages = daemon) {
  const phone = await phones.phone(options)
  onTestFinished(() => phone.close())
  await standInForMedia(phone.context)
  return { ...phone, tap: (uid: string) => phone.open(at.tapUrl(uid)) }
}

const settings = {
  nonce: 'x',
  gateways: { ipfs: 'https://ipfs.io', arweave: 'https://arweave.net' },
  script: undefined,
  home: 'https://tap.example',
}

test('axe finds nothing in any state, light or dark, in either language', async () => {
  const now = new Date()
  for (const language of ['en', 'de'] as const)
    for (const colorScheme of ['light', 'dark'] as const) {
      const phone = await newPhone({ colorScheme })
      const page = await phone.context.newPage()
      const found: string[] = []
      for (const sample of samples(now)) {
        await page.setContent(samplePage(sample, { ...settings, now, language }).body)
        for (const finding of await audit(page)) found.push(`${sample.state}: ${finding}`)
      }
      expect(found).toEqual([])
      expect(await page.locator('html').getAttribute('lang')).toBe(language)
      await phone.close()
    }
})
