// A database as years of use leave it, without the years.
export { fillDatabase, largeUid } from '../../tests/support/large-database.ts'
