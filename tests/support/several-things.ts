import { chips, phygitalSeed } from './phygitals.ts'

const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

/** Jackets 1 to 6, whose tap offers a claim, two badges, and a guestbook. */
export function severalThings({ startDate = '2026-01-01', expiryDate = '2026-12-30', codes = 10 } = {}) {
  const [acme, ...others] = phygitalSeed.teams
  const six = [1, 2, 3, 4, 5, 6].map((n) => chips.jacket(n))
  const badge = (name: string) => ({
    ...{ name, description: name, startDate, endDate: expiryDate, expiryDate, requestedCodes: codes },
    chips: six,
  })
  return {
    ...phygitalSeed,
    teams: [
      {
        ...acme,
        guestbookContracts: [
          {
            ...{ symbol: 'GB', name: 'Guests', chainId: 31337 },
            events: [{ name: 'Opening', tokenId: '1', metadata: { name: 'Opening' }, chips: six }],
          },
        ],
        badgeEvents: [badge('Launch'), badge('Second')],
      },
      ...others,
    ],
  }
}

/** The same for a daemon with the clock of this machine. */
export const severalThingsToday = (codes = 10) =>
  severalThings({ startDate: day(-1), expiryDate: day(9), codes })
