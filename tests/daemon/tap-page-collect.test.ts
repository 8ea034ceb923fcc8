import { expect, test } from 'vitest'
import type { TapPage } from '../../src/daemon/domain/tap-page/content.ts'
import { samples } from '../../src/daemon/pages/tap/samples.ts'
import { tapPage } from '../../src/daemon/pages/tap/tap-page.ts'

const now = new Date()
const gateways = { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' }
const settings = {
  language: 'en',
  nonce: 'n',
  now,
  gateways,
  script: undefined,
  home: 'https://taps.example',
} as const

const pageOf = (state: string): TapPage => {
  const found = samples(now).find((sample) => sample.state === state)
  if (!found || !('page' in found.shows)) throw new Error(`no sample ${state}`)
  return found.shows.page
}

test('the steps of two taps keep forms of their own beside actions that share one', () => {
  const steps = pageOf('two-taps')
  const others = pageOf('everything').actions.filter(({ kind }) => kind !== 'claim')
  const { body } = tapPage({ ...steps, actions: [...steps.actions, ...others] }, settings)
  const found = (pattern: RegExp) => [...body.matchAll(pattern)].map(([, name]) => name)
  expect(found(/data-action="(\w+)"/g)).toEqual(['collect', 'register', 'claim'])
  expect(found(/name="choice" value="([^"]+)"/g)).toEqual(['badge-3', 'guestbook-3'])
})
