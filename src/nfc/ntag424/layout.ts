// Files and keys of an NTAG 424 DNA. Source: NT4H2421Gx s8.2.3

/** File numbers in the chip's own commands. */
export const CC_FILE = 1
export const NDEF_FILE = 2
export const PROPRIETARY_FILE = 3
/** In bytes. */
export const FILE_SIZES = { [CC_FILE]: 32, [NDEF_FILE]: 256, [PROPRIETARY_FILE]: 128 } as const
/** In the capability file: 00 if phones may write the NDEF file, FF if not. Source: Type 4 Tag 2.0 s5.1.2 */
export const WRITE_ACCESS_OFFSET = 14

export const KEY_NUMBERS = [0, 1, 2, 3, 4] as const
export type KeyNumber = (typeof KEY_NUMBERS)[number]
/** Changes keys and settings, a role that the chip itself gives to this key. */
export const MASTER_KEY = 0
/** Makes the MAC of a tap. */
export const FILE_READ_KEY = 1
/** Encrypts UID and counter of a tap. */
export const META_READ_KEY = 2
