/** A decimal number as a class, as in libraries. */
export class Decimal {
  constructor(readonly digits: string) {}

  toString(): string {
    return this.digits
  }
}
