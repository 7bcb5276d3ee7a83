package fence

import "strconv"

// Placeholder is how a database writes a parameter.
type Placeholder struct {
	text   string
	number int // of Dollar
}

// Question is the placeholder of MySQL and SQLite: each is the next argument, so
// [Statement.Arg] is passed once for Set and once for Where.
var Question = Placeholder{text: "?"}

// Dollar returns the placeholder of PostgreSQL with that number: Set and Where name
// the same one, so [Statement.Arg] is passed once, as the n-th argument.
func Dollar(n int) Placeholder { return Placeholder{"$" + strconv.Itoa(n), n} }

// Statement is the part of an UPDATE that checks a token.
type Statement struct {
	Set   string // "fence = ?": so that older tokens are refused from then on
	Where string // "fence <= ?": no row is changed that a newer holder has written
	Arg   int64  // for each placeholder
}

// SQL returns the part that makes an UPDATE refuse an older token. The row has a column
//
//	fence BIGINT NOT NULL DEFAULT 0
//
// and an UPDATE sets and compares it, so that check and write are one:
//
//	UPDATE orders SET total = ?, fence = ? WHERE id = ? AND fence <= ?
//
// If no row was changed, the token is stale or there is no such row. An equal number passes, as the
// same holder's: the database does not know the owner; see [SQLWithOwner]. A row that several locks
// guard needs a column for each. The first INSERT of a row has nothing to compare with.
//
// The zero Token never passes: its argument is -1.
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

// OwnerStatement is the part of an UPDATE that checks a token and its owner.
type OwnerStatement struct {
	Set       string // "fence = ?, fence_owner = ?"
	SetArgs   []any  // for each placeholder of Set
	Where     string // "(fence < ? OR fence = ? AND fence_owner = ?)"
	WhereArgs []any  // for each placeholder of Where; none with Dollar, where Set has named them
}

// SQLWithOwner returns the part that makes an UPDATE refuse an older token, and an equal one of
// another owner: after a failover two holders may have the same number, if one of them is
// Redisson's. The row has two columns:
//
//	fence BIGINT NOT NULL DEFAULT 0
//	fence_owner VARCHAR(255) NOT NULL DEFAULT ''
//
// With [Dollar] the owner is the parameter after the token. A token without an owner, such as one
// of [New], has the owner "", which is compared like any other.
//
//	q := fence.SQLWithOwner(token, fence.Dollar(2))
//	args := append([]any{total}, q.SetArgs...)
//	db.ExecContext(ctx, "UPDATE orders SET total = $1, "+q.Set+" WHERE id = 42 AND "+q.Where, append(args, q.WhereArgs...)...)
//
// Rows that were written by [SQL] have no owner. Until a newer token comes, the token that wrote
// last is refused, too. The rest is as for [SQL].
func SQLWithOwner(t Token, p Placeholder) OwnerStatement {
	number := t.number
	if t.IsZero() {
		number = -1
	}
	if p.number > 0 {
		n, owner := p.text, Dollar(p.number+1).text
		return OwnerStatement{
			Set: "fence = " + n + ", fence_owner = " + owner, SetArgs: []any{number, t.owner},
			Where: "(fence < " + n + " OR fence = " + n + " AND fence_owner = " + owner + ")",
		}
	}
	return OwnerStatement{
		Set: "fence = ?, fence_owner = ?", SetArgs: []any{number, t.owner},
		Where: "(fence < ? OR fence = ? AND fence_owner = ?)", WhereArgs: []any{number, number, t.owner},
	}
}
