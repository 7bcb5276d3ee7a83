package fence_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/fence"
)

func token(t testing.TB, lock string, number int64) fence.Token {
	t.Helper()
	made, err := fence.New(lock, number)
	require.NoError(t, err)
	return made
}

func TestTokensOfOneLockHaveAnOrder(t *testing.T) {
	t.Parallel()
	older, newer := token(t, "order", 7), token(t, "order", 8).By("somebody")
	for _, of := range []struct {
		a, b fence.Token
		want int
	}{{older, newer, -1}, {newer, older, 1}, {older, older.By("another"), 0}} {
		got, err := of.a.Compare(of.b)
		require.NoError(t, err)
		require.Equal(t, of.want, got)
	}
	_, err := older.Compare(token(t, "another", 8))
	require.ErrorIs(t, err, fence.ErrOtherLock)
	require.ErrorContains(t, err, `"another"`)
}

func TestATokenIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, made := range []fence.Token{
		token(t, "order:42", 1), token(t, "a b;c=d\n\"é{}", math.MaxInt64), token(t, "x", 7).By("6f5c2ae5:1;2"),
	} {
		read, err := fence.Parse(made.String())
		require.NoError(t, err)
		require.Equal(t, made, read)
		require.Regexp(t, `^[!-~]+$`, made.String(), "it fits into a header")
	}
	require.Equal(t, "7;lock=order%3A42;owner=me", token(t, "order:42", 7).By("me").String())
	require.Empty(t, fence.Token{}.String())
}

func TestWhatIsNoTokenIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "7", ";", "7;lock=", "0;lock=x", "-7;lock=x", "+7;lock=x", "07;lock=x", " 7;lock=x", "7;lock=x;", "7;lock=x;owner=",
		"7;lock=x;owner=y;z", "7;owner=x", "7;name=x", "9223372036854775808;lock=x", "7;lock=%", "7;lock=a b", "7.0;lock=x",
	} {
		_, err := fence.Parse(text)
		require.ErrorIs(t, err, fence.ErrMalformed, "%q", text)
	}
	for _, of := range []struct {
		lock   string
		number int64
	}{{"", 7}, {"x", 0}, {"x", -1}} {
		_, err := fence.New(of.lock, of.number)
		require.ErrorIs(t, err, fence.ErrMalformed)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"7;lock=order%3A42;owner=me", "7;lock=x", "", "7;lock=%zz"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := fence.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, fence.ErrMalformed)
			return
		}
		require.Equal(t, text, read.String())
		require.NotEmpty(t, read.Lock())
		require.Positive(t, read.Number())
	})
}

func TestAContextCarriesTheTokensOfSeveralLocks(t *testing.T) {
	t.Parallel()
	_, ok := fence.FromContext(t.Context())
	require.False(t, ok)
	outer := fence.NewContext(t.Context(), token(t, "a", 1))
	inner := fence.NewContext(outer, token(t, "b", 2))
	inner, cancel := context.WithCancel(inner)
	defer cancel()
	got, ok := fence.FromContext(inner)
	require.True(t, ok)
	require.Equal(t, "b", got.Lock())
	got, ok = fence.OfLock(inner, "a")
	require.True(t, ok)
	require.EqualValues(t, 1, got.Number())
	_, ok = fence.OfLock(inner, "c")
	require.False(t, ok)
	got, ok = fence.FromContext(fence.NewContext(outer, fence.Token{}))
	require.True(t, ok, "the zero Token is none")
	require.Equal(t, "a", got.Lock())
}

func TestStatementsForEachPlaceholder(t *testing.T) {
	t.Parallel()
	require.Equal(t, fence.Statement{Set: "fence = ?", Where: "fence <= ?", Arg: 7}, fence.SQL(token(t, "x", 7), fence.Question))
	require.Equal(t, fence.Statement{Set: "fence = $3", Where: "fence <= $3", Arg: 7}, fence.SQL(token(t, "x", 7), fence.Dollar(3)))
	require.EqualValues(t, -1, fence.SQL(fence.Token{}, fence.Question).Arg, "below every row's")
	require.Equal(t, "fence <= ?", fence.SQL(token(t, "x", 7), fence.Placeholder{}).Where)

	mine := token(t, "x", 7).By("me")
	asked := fence.OwnerStatement{
		Set: "fence = ?, fence_owner = ?", SetArgs: []any{int64(7), "me"},
		Where: "(fence < ? OR fence = ? AND fence_owner = ?)", WhereArgs: []any{int64(7), int64(7), "me"},
	}
	require.Equal(t, asked, fence.SQLWithOwner(mine, fence.Question))
	require.Equal(t, asked, fence.SQLWithOwner(mine, fence.Placeholder{}))
	require.Equal(t, fence.OwnerStatement{
		Set: "fence = $3, fence_owner = $4", SetArgs: []any{int64(7), "me"}, Where: "(fence < $3 OR fence = $3 AND fence_owner = $4)",
	}, fence.SQLWithOwner(mine, fence.Dollar(3)))
	require.Equal(t, []any{int64(-1), ""}, fence.SQLWithOwner(fence.Token{}, fence.Question).SetArgs, "below every row's")
}
