import type { Outcome } from '../card.ts'

/** One step of a signal: bytes for the reader, as an APDU that it takes for itself or as an escape command. */
export type SignalStep =
  | { readonly type: 'transmit'; readonly apdu: Uint8Array }
  | { readonly type: 'control'; readonly command: Uint8Array }
  | { readonly pauseMs: number }

/**
 * Commands to a reader's buzzer and LED: once and green for a good chip, twice and red for a bad one. Empty for
 * readers that are not known to have them, since others may pass such bytes on to the chip.
 * @param reader PC/SC's name
 */
export const signalOf = (reader: string, outcome: Outcome): readonly SignalStep[] =>
  families.find(({ name }) => name.test(reader))?.steps[outcome] ?? []

/** Durations in tenths of a second: on, off; then how often, and 1 to sound the buzzer while on. */
const acr122 = (leds: number, times: number): SignalStep => ({
  type: 'transmit',
  apdu: Uint8Array.of(0xff, 0x00, 0x40, leds, 4, 1, 1, times, 1),
})
/** In hundredths of a second. The reader answers at once, and goes on sounding. */
const buzz = (duration: number): SignalStep => ({
  type: 'control',
  command: Uint8Array.of(0xe0, 0, 0, 0x28, 1, duration),
})
/** Until the reader sets its LEDs itself again, at the next card. */
const led = (bits: number): SignalStep => ({
  type: 'control',
  command: Uint8Array.of(0xe0, 0, 0, 0x29, 1, bits),
})

const families: readonly {
  readonly name: RegExp
  readonly steps: Readonly<Record<Outcome, readonly SignalStep[]>>
}[] = [
  // ACS, ACR122U API, section 6.2: LED states in the low half (after, with masks) and the high half (blinking).
  { name: /\bACR122/, steps: { done: [acr122(0xae, 1)], failed: [acr122(0x5d, 2)] } },
  // ACS, ACR1251U, ACR1252U and ACR1281U reference manuals, "Peripherals control": bit 0 is red, bit 1 green.
  {
    name: /\bACR12(51|52|81)/,
    steps: {
      done: [led(0b10), buzz(10)],
      failed: [led(0b01), buzz(10), { pauseMs: 200 }, buzz(10)],
    },
  },
]
