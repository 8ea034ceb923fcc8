import type { SeedKeySet } from './taps.ts'

// Sample data with one of everything: two teams, the three derivations, both chip families.

export const derived: SeedKeySet = {
  id: 101,
  metaReadKey: '7b0f6a2c94d3e8511c5ad2e6f3b847a0',
  fileReadKey: 'e1d27c5f80a94b36d7c2f15e9a6403bb',
  diversification: 'an10922',
  systemIdentifier: '54617063686970',
  macInputFrom: 'd',
}

export const plain: SeedKeySet = {
  id: 102,
  metaReadKey: '00000000000000000000000000000000',
  fileReadKey: '00000000000000000000000000000000',
  diversification: 'none',
  macInputFrom: null,
}

export const listed: SeedKeySet = {
  id: 103,
  metaReadKey: '5f0b9d3471c8e26a1d94b3f07e58a2c6',
  fileReadKey: '',
  diversification: 'listed',
  macInputFrom: 'e',
}

export const listedKey = '8d41f6b2093ce57a6ad0c2e8b7514f93'

export const acmeKey = 'svc_acme_0123456789abcdef'
export const otherKey = 'svc_other_0123456789abcde'
export const alice = '0x8f3c2A7d1e5B9046A2CD7E81F0B3c4D5e6f70819'

/** Chips of the first team, in hex. */
export const uids = {
  /** Linked to token 1, with a redirect. */
  jacket: '04DE5F1EACC040',
  /** Bound to an item, not minted. */
  unminted: '04A1B2C3D4E580',
  /** Carries a badge event and a guestbook event. */
  events: '049893CAAA1190',
  /** Carries nothing, no redirect. */
  blank: '04C767F2066180',
  /** Of the key set without derivation, as in NXP's application note. */
  plain: '04958CAA5C5E80',
  listed: '041D3C8A2D6B80',
  /** Linked to token 1 as well, no redirect. */
  twin: '049F50824F1390',
} as const

const { fileReadKey: _, ...listedForSeed } = listed

export const jacketItem = {
  id: 'jacket',
  name: 'Jacket',
  description: 'A shell jacket',
  imageUrl: 'https://img.acme.example/jacket.png',
  contract: 'JKT',
  media: [{ mimeType: 'image/png', url: 'https://img.acme.example/jacket.png' }],
  attributes: [{ name: 'Size', values: ['S', 'M'] }],
  variants: [{ id: 's', attributes: [{ name: 'Size', value: 'S' }] }],
}

export const seed = {
  version: 1,
  keySets: [derived, plain, listedForSeed],
  names: { 'alice.eth': alice },
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      links: [
        { label: 'Open in Acme', baseUrl: 'https://acme.example/tap?lang=en' },
        { label: 'Care & repair', baseUrl: 'https://care.example/' },
      ],
      contracts: [
        { symbol: 'JKT', name: 'Jackets', chainId: 31337, twoTap: { delaySeconds: 60, windowSeconds: 3600 } },
      ],
      items: [jacketItem],
      chipGroups: [
        {
          name: 'Jackets',
          chips: [
            {
              uid: uids.jacket,
              keySet: 101,
              redirectUrl: 'https://acme.example/jacket?x=a%20b',
              item: 'jacket',
              variant: 's',
              token: { contract: 'JKT', tokenId: '1', owner: alice, metadata: { name: 'Jacket #1' } },
            },
            { uid: uids.twin, keySet: 101, token: { contract: 'JKT', tokenId: '1' } },
            { uid: uids.unminted, keySet: 101, item: 'jacket' },
            { uid: uids.events, keySet: 101 },
            { uid: uids.blank, keySet: 101 },
          ],
        },
        {
          name: 'Prints',
          chips: [
            { uid: uids.plain, keySet: 102 },
            { uid: uids.listed, keySet: 103, fileReadKey: listedKey },
          ],
        },
      ],
      guestbookContracts: [
        {
          symbol: 'GB',
          name: 'Guests',
          chainId: 31337,
          events: [{ name: 'Opening', tokenId: '1', metadata: { name: 'Opening' }, chips: [uids.events] }],
        },
      ],
      badgeEvents: [
        {
          name: 'Launch',
          description: 'Launch party',
          startDate: '2026-05-01',
          endDate: '2026-06-30',
          expiryDate: '2026-07-31',
          requestedCodes: 10,
          chips: [uids.events],
        },
        {
          name: 'Long over',
          startDate: '2025-01-01',
          endDate: '2025-01-02',
          expiryDate: '2025-01-03',
          requestedCodes: 3,
          chips: [uids.events],
        },
      ],
    },
    {
      name: 'Other',
      apiKeys: [{ name: 'other', key: otherKey }],
      items: [{ id: 'other-item', name: 'Other item' }],
      chipGroups: [{ name: 'Others', chips: [{ uid: '04827F12647380', keySet: 101 }] }],
    },
  ],
}

/** A seed with `count` chips of one contract, numbered from 1 as their tokens are. */
export const tokenSeed = (
  count: number,
  chipOf: (n: number) => { uid: string; owner?: string | undefined },
  chainId = 31337,
) => ({
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId }],
      chipGroups: [
        {
          name: 'Jackets',
          chips: Array.from({ length: count }, (_, index) => {
            const { uid, owner } = chipOf(index + 1)
            return { uid, keySet: 101, token: { contract: 'JKT', tokenId: String(index + 1), owner } }
          }),
        },
      ],
    },
  ],
})
