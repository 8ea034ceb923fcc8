// Chips on several virtual readers, and hands that lay them down: what the bench of four readers needs of the tests.
export { Chip } from '../../tests/support/nfc.ts'
export { Hands } from '../../tests/support/pcsc/hands.ts'
export { startPcscd } from '../../tests/support/pcsc/pcscd.ts'
export { delayed, emulated } from '../../tests/support/pcsc/vpcd.ts'
