/** A decimal number as an object, like those of decimal libraries. */
export class Decimal {
  constructor(readonly digits: string) {}

  toString(): string {
    return this.digits
  }
}
