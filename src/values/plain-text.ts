/** Text that databases and terminals can hold: no NUL and no broken surrogate pairs. */
export const isPlainText = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
export const notPlainText = 'must not contain NUL or broken Unicode'
