package sqltest

import (
	"database/sql"
	"maps"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rueidisson/rueidisson/fence"
)

// orders is a table with one row, which nothing has been written to.
func orders(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "orders"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER, fence BIGINT NOT NULL DEFAULT 0, fence_owner TEXT NOT NULL DEFAULT '')")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO orders (id, total) VALUES (42, 0)")
	require.NoError(t, err)
	return db
}

func token(t *testing.T, number int64) fence.Token {
	t.Helper()
	made, err := fence.New("order:42", number)
	require.NoError(t, err)
	return made
}

// writers write a total under a token, and report whether a row took it.
var writers = map[string]func(t *testing.T, db *sql.DB, total int, by fence.Token) bool{
	"question marks": func(t *testing.T, db *sql.DB, total int, by fence.Token) bool {
		q := fence.SQL(by, fence.Question)
		return changed(t, db, "UPDATE orders SET total = ?, "+q.Set+" WHERE id = 42 AND "+q.Where, total, q.Arg, q.Arg)
	},
	"numbers": func(t *testing.T, db *sql.DB, total int, by fence.Token) bool {
		q := fence.SQL(by, fence.Dollar(2))
		return changed(t, db, "UPDATE orders SET total = $1, "+q.Set+" WHERE id = 42 AND "+q.Where, total, q.Arg)
	},
}

// owned are writers whose rows know the owner, too.
var owned = map[string]func(t *testing.T, db *sql.DB, total int, by fence.Token) bool{
	"question marks, owned": func(t *testing.T, db *sql.DB, total int, by fence.Token) bool {
		q := fence.SQLWithOwner(by, fence.Question)
		args := append([]any{total}, q.SetArgs...)
		return changed(t, db, "UPDATE orders SET total = ?, "+q.Set+" WHERE id = 42 AND "+q.Where, append(args, q.WhereArgs...)...)
	},
	"numbers, owned": func(t *testing.T, db *sql.DB, total int, by fence.Token) bool {
		q := fence.SQLWithOwner(by, fence.Dollar(2))
		args := append([]any{total}, q.SetArgs...)
		return changed(t, db, "UPDATE orders SET total = $1, "+q.Set+" WHERE id = 42 AND "+q.Where, append(args, q.WhereArgs...)...)
	},
}

// all is the writers of both kinds.
func all() map[string]func(t *testing.T, db *sql.DB, total int, by fence.Token) bool {
	both := maps.Clone(writers)
	maps.Copy(both, owned)
	return both
}

// TestARowRefusesAnEqualTokenOfAnotherOwner: a failover may give one number twice.
func TestARowRefusesAnEqualTokenOfAnotherOwner(t *testing.T) {
	t.Parallel()
	for title, write := range owned {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			db := orders(t)
			first, second := token(t, 7).By("first"), token(t, 7).By("second")
			require.True(t, write(t, db, 1, first))
			require.True(t, write(t, db, 2, first), "as often as it likes")
			require.False(t, write(t, db, 3, second))
			require.False(t, write(t, db, 4, token(t, 7)), "no owner is another one")
			require.True(t, write(t, db, 5, token(t, 8).By("second")))
			require.False(t, write(t, db, 6, token(t, 7).By("second")))
			require.False(t, write(t, db, 7, first))
		})
	}
}

func changed(t *testing.T, db *sql.DB, statement string, args ...any) bool {
	t.Helper()
	res, err := db.ExecContext(t.Context(), statement, args...)
	require.NoError(t, err)
	n, err := res.RowsAffected()
	require.NoError(t, err)
	return n == 1
}

func TestARowRefusesAnOlderToken(t *testing.T) {
	t.Parallel()
	for title, write := range all() {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			db := orders(t)
			for _, step := range []struct {
				number int64
				taken  bool
			}{{1790000000000007, true}, {1790000000000007, true}, {1790000000000006, false}, {1, false}, {1790000000000009, true}, {1790000000000008, false}} {
				require.Equal(t, step.taken, write(t, db, int(step.number%100), token(t, step.number)), step.number)
			}
			var total, highest int64
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT total, fence FROM orders").Scan(&total, &highest))
			require.EqualValues(t, 9, total)
			require.EqualValues(t, 1790000000000009, highest)
		})
	}
}

func TestNoTokenPassesNowhere(t *testing.T) {
	t.Parallel()
	for title, write := range all() {
		require.False(t, write(t, orders(t), 1, fence.Token{}), "%s: also a row that nobody has written", title)
	}
}
