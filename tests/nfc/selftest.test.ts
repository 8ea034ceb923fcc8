import { describe, expect, test } from 'vitest'
import { CardGone } from '../../src/nfc/card.ts'
import { factoryMemory } from '../../src/nfc/emulator/memory.ts'
import { NotBlank, replaySelftest, selftest } from '../../src/nfc/selftest.ts'
import { type TranscriptLine, transcriptDifferences } from '../../src/nfc/transcript.ts'
import { steadyRandom, TestChip, uidBytes } from './virtual-card.ts'

async function transcript(chip = new TestChip(), seed = 'self-test') {
  const lines: TranscriptLine[] = []
  const note = (line: TranscriptLine) => lines.push(line)
  const good = await chip.run(selftest({ random: steadyRandom(seed), note }))
  return { good, lines, chip }
}

const learnt = (lines: readonly TranscriptLine[], step: string) =>
  lines.flatMap((line) => (line.step === step && 'value' in line ? [line.value] : []))[0]

describe('the self-test', () => {
  test('runs every command, and leaves the chip as it was', async () => {
    const { good, lines, chip } = await transcript()
    expect(lines.filter((line) => 'error' in line)).toEqual([])
    expect(good).toBe(true)
    expect(learnt(lines, 'counts that a tap takes')).toBe('1')
    expect(learnt(lines, 'counter after new settings')).toBe('0')
    expect(learnt(lines, 'file 3 in CommMode.FULL')).toBe('selftest')
    const refused = lines.flatMap((line) =>
      'command' in line && line.command.startsWith('90AF000020') ? [line.answer] : [],
    )
    expect(refused).toContain('919D')
    const { sdmReadCounter: _, ...rest } = Object(chip.chip.toJSON())
    const { sdmReadCounter: __, ...factory } = Object(new TestChip().chip.toJSON())
    expect(rest).toEqual(factory)
    const instructions = new Set(
      lines.flatMap((line) => ('command' in line ? [line.command.slice(0, 4)] : [])),
    )
    const used = ['00A4', '00B0', '00D6', '9060', '9064', '90F5', '905F', '908D', '90AD', '9071', '90AF']
    expect([...instructions]).toEqual(expect.arrayContaining([...used, '90C4', '9051', '90F6', '903C']))
  })

  test('leaves no key, no challenge, no tap, no UID and nothing of a session in the transcript', async () => {
    const { lines } = await transcript()
    const text = JSON.stringify(lines)
    expect(text).not.toContain('04DE5F1EACC040')
    expect(text).not.toMatch(/t\?d=/)
    expect(text).not.toContain(Buffer.from('t?d=').toString('hex').toUpperCase().slice(0, 8))
    for (const line of lines) {
      if (!('command' in line)) continue
      if (/^90(71|C4|51|3C)/.test(line.command)) expect(line.answer).toMatch(/^(\?\?)*[0-9A-F]{4}$/)
      if (/^90AF000020/.test(line.command)) expect(line.command).toMatch(/^90AF000020(\?\?){32}00$/)
      if (/^90C4/.test(line.command)) expect(line.command).toMatch(/^90C40000290?0?[0-4](\?\?){40}00$/)
    }
  })

  test('can be replayed: another chip with other secrets gives the same transcript', async () => {
    for (const tamper of [false, true]) {
      const { lines } = await transcript(new TestChip(factoryMemory(uidBytes, { tamper })))
      expect(await replaySelftest(JSON.parse(JSON.stringify(lines)))).toEqual([])
    }
  })

  test('shows where a chip differs from the virtual one', async () => {
    const { lines } = await transcript()
    const real = lines.map((line) =>
      'command' in line &&
      line.step === 'refused: READ BINARY beyond the end' &&
      line.command.startsWith('00B0')
        ? { ...line, answer: '6282' }
        : line,
    )
    const differences = await replaySelftest(real)
    expect(differences).toHaveLength(1)
    expect(differences[0]).toMatch(
      /refused: READ BINARY beyond the end: 00B0010010 → 6282, but replayed .*6A86/,
    )
    expect(transcriptDifferences(lines.slice(0, 3), lines.slice(0, 2))).toHaveLength(1)
  })

  test('refuses a chip that is not blank, and writes nothing', async () => {
    const chip = new TestChip()
    for (const slot of chip.memory.keys) slot.version = 1
    const before = JSON.stringify(chip.chip.toJSON())
    await expect(transcript(chip)).rejects.toThrow(NotBlank)
    expect(JSON.stringify(chip.chip.toJSON())).toBe(before)
  })

  test('lifted anywhere, the next run frees the chip first', async () => {
    const whole = (await transcript()).chip.sent
    let before = ''
    let states = 0
    for (let apdu = 1; apdu <= whole; apdu += 1) {
      const chip = new TestChip()
      const lines: TranscriptLine[] = []
      const note = (line: TranscriptLine) => void lines.push(line)
      const torn = chip.run(selftest({ random: steadyRandom(), note }), { apdu, when: 'after' })
      await expect(torn).rejects.toThrow(CardGone)
      expect(lines.filter((line) => 'command' in line)).toHaveLength(apdu - 1)
      // What only read has left the chip as the command before it, from which the next run has been seen.
      const left = JSON.stringify(chip.chip.toJSON())
      if (left === before) continue
      before = left
      states += 1
      const { good } = await transcript(chip)
      expect({ apdu, good }).toEqual({ apdu, good: true })
      expect(chip.memory.failedAuthentications).toBe(0)
    }
    expect(states).toBeGreaterThan(10)
  })
})
