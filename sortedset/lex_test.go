package sortedset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTextsAsAModel does random operations on a set of texts, and compares each answer with that of a sorted slice.
func TestTextsAsAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		l := kitOn(enginetest.On(t, raw), fresh(t, raw)).l
		var should []string
		drop := func(some []string) (n int64) {
			for _, text := range slices.Clone(some) {
				if i, there := slices.BinarySearch(should, text); there {
					should, n = slices.Delete(should, i, i+1), n+1
				}
			}
			return n
		}
		for range redistest.Count(t, 200, 5000) {
			text := strings.Repeat(string([]byte{byte('a' + rand.IntN(3))}), rand.IntN(3)) + string(rune('a'+rand.IntN(4)))
			span := Span{From: text}
			switch rand.IntN(3) {
			case 0:
				span = Prefix(text)
			case 1:
				span = Through(text, text+"b")
			}
			var within []string
			for _, one := range should {
				if one >= span.From && (span.Before == "" || one < span.Before) {
					within = append(within, one)
				}
			}
			i, there := slices.BinarySearch(should, text)
			switch rand.IntN(8) {
			case 0:
				got, err := texts(l.Range(t.Context(), span))
				require.NoError(t, err)
				require.Equal(t, strings.Join(within, " "), got)
			case 1:
				slices.Reverse(within)
				n := min(len(within), rand.IntN(4))
				got, err := texts(l.Range(t.Context(), span, WithDescending(), WithLimit(int64(n))))
				require.NoError(t, err)
				require.Equal(t, strings.Join(within[:n], " "), got)
			case 2:
				n, err := l.Count(t.Context(), span)
				require.NoError(t, err)
				require.EqualValues(t, len(within), n)
			case 3:
				rank, is, err := l.Rank(t.Context(), text)
				require.NoError(t, err)
				require.Equal(t, there, is)
				if there {
					require.EqualValues(t, i, rank)
				}
			case 4:
				n, err := l.Remove(t.Context(), text)
				require.NoError(t, err)
				require.Equal(t, drop([]string{text}), n)
			case 5:
				if rand.IntN(4) == 0 { // it empties the set
					n, err := l.RemoveRange(t.Context(), span)
					require.NoError(t, err)
					require.Equal(t, drop(within), n)
				}
			case 6:
				n := rand.IntN(3)
				want := slices.Clone(should[:min(n, len(should))])
				got, err := l.PopMin(t.Context(), n)
				require.NoError(t, err)
				require.ElementsMatch(t, want, got)
				drop(want)
			default:
				n, err := l.Add(t.Context(), text, text+"c")
				require.NoError(t, err)
				want := int64(0)
				for _, one := range []string{text, text + "c"} {
					if i, is := slices.BinarySearch(should, one); !is {
						should, want = slices.Insert(should, i, one), want+1
					}
				}
				require.Equal(t, want, n)
			}
		}
		got, err := texts(l.Range(t.Context(), Span{}))
		require.NoError(t, err)
		require.Equal(t, strings.Join(should, " "), got)
	})
}

// TestTextsInPages walks more texts than a page has, of which those that it has seen are removed.
func TestTextsInPages(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, opts := range [][]RangeOption{nil, {WithDescending()}} {
			l := kitOn(enginetest.On(t, raw), fresh(t, raw)).l
			var want []string
			for i := range 5000 {
				want = append(want, fmt.Sprintf("%05d", i))
			}
			n, err := l.Add(t.Context(), want...)
			require.NoError(t, err)
			require.EqualValues(t, 5000, n)
			if want = want[1000:4500]; opts != nil {
				slices.Reverse(want)
			}
			var got []string
			for text, err := range l.Range(t.Context(), Through("01000", "04499"), opts...) {
				require.NoError(t, err)
				got = append(got, text)
				if len(got)%500 == 0 {
					_, err = l.Remove(t.Context(), text)
					require.NoError(t, err)
				}
			}
			require.Equal(t, want, got)
			n, err = l.RemoveRange(t.Context(), Prefix("0"))
			require.NoError(t, err)
			require.EqualValues(t, 5000-7, n)
		}
	})
}

// TestSpans: what begins with a text is before the next text of its length.
func TestSpans(t *testing.T) {
	t.Parallel()
	require.Equal(t, Span{"ab", "ac"}, Prefix("ab"))
	require.Equal(t, Span{"a\xff", "b"}, Prefix("a\xff"))
	require.Equal(t, Span{"\xff", ""}, Prefix("\xff"))
	require.Equal(t, Span{}, Prefix(""))
	require.Equal(t, Span{"a", "b\x00"}, Through("a", "b"))
}
