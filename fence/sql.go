package fence

import "strconv"

// Placeholder is how a database writes a parameter.
type Placeholder struct{ text string }

// Question is the placeholder of MySQL and SQLite: each is the next argument, so
// [Statement.Arg] is passed once for Set and once for Where.
var Question = Placeholder{"?"}

// Dollar is the placeholder of PostgreSQL with that number: Set and Where name
// the same one, so [Statement.Arg] is passed once, as the n-th argument.
func Dollar(n int) Placeholder { return Placeholder{"$" + strconv.Itoa(n)} }

// Statement is what a token adds to an UPDATE.
type Statement struct {
	Set   string // "fence = ?": so that older tokens are refused from then on
	Where string // "fence <= ?": no row is changed that a newer holder has written
	Arg   int64  // for each placeholder
}

// SQL is what makes an UPDATE refuse an older token. The row has a column
//
//	fence BIGINT NOT NULL DEFAULT 0
//
// and an UPDATE sets it and asks for it, so that check and write are one:
//
//	UPDATE orders SET total = ?, fence = ? WHERE id = ? AND fence <= ?
//
// If no row was changed, the token is stale or there is no such row. An equal
// number passes, as the same holder's: the database does not know the owner. A
// row that several locks guard needs a column for each. What an INSERT writes for
// the first time has nothing to compare with.
//
// The zero Token passes nowhere: its argument is -1.
func SQL(t Token, p Placeholder) Statement {
	arg := t.number
	if t.IsZero() {
		arg = -1
	}
	if p.text == "" {
		p = Question
	}
	return Statement{Set: "fence = " + p.text, Where: "fence <= " + p.text, Arg: arg}
}
