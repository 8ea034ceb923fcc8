import type { Variant } from './memory.ts'

/** Kinds of chips beside the plain NTAG 424, by the names that TAPCHIP_EMULATOR takes. */
export const VARIANTS = {
  /** With a loop, as delivered. */
  tagtamper: { tamper: true },
  /** Shows the signature of another chip, as copies do. Source: AN12196 Table 30 */
  clone: {
    signature: Buffer.from(
      'D1940D17CFEDA4BFF80359AB975F9F6514313E8F90C1D3CAAF5941AD744A1CDF' +
        '9A83F883CAFE0FE95D1939B1B7E47113993324473B785D21',
      'hex',
    ),
  },
  /** Blank, but switched to LRP mode. */
  lrp: { lrp: true },
} as const satisfies Record<string, Variant>

export type VariantName = keyof typeof VARIANTS

export function isVariantName(name: string): name is VariantName {
  return Object.hasOwn(VARIANTS, name)
}
