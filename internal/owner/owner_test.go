package owner

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const client = "285475da-9152-4c83-822a-67ee2f116a79"

func TestTheDecimalAloneTellsTheClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		number int64
		class  Class
	}{
		{"a Java thread", 1, Foreign},
		{"a Java thread of a long-lived server", 1 << 40, Foreign},
		{"the last foreign number", 1<<61 - 1, Foreign},
		{"the first exported number", 1 << 61, Exported},
		{"the last exported number", 1<<62 - 1, Exported},
		{"the first private number", 1 << 62, Private},
		{"the last private number", math.MaxInt64, Private},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			id := ID{Client: client, Number: c.number}
			assert.Equal(t, c.class, id.Class())
			parsed, err := Parse(id.String())
			require.NoError(t, err)
			assert.Equal(t, id, parsed)
		})
	}
}

func TestIssuedOwnersParseIntoTheirClass(t *testing.T) {
	t.Parallel()
	issuer := NewIssuer(client)
	assert.Equal(t, client, issuer.Client())
	for want, issue := range map[Class]func() string{Private: issuer.Private, Exported: issuer.Exported} {
		text := issue()
		id, err := Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, id.Class(), text)
		assert.Equal(t, client, id.Client)
		assert.Equal(t, text, id.String())
	}
}

// The counter runs through all 64 bits; an owner never leaves its range.
func TestTheCounterWrapsInsideTheRange(t *testing.T) {
	t.Parallel()
	for _, start := range []uint64{0, 1<<61 - 2, 1<<62 - 2, 1<<63 - 2, math.MaxUint64 - 1} {
		issuer := &Issuer{client: client}
		issuer.next.Store(start)
		for range 4 {
			assert.Equal(t, Private, class(t, issuer.Private()), "counter near %d", start)
			assert.Equal(t, Exported, class(t, issuer.Exported()), "counter near %d", start)
		}
	}
}

func class(t *testing.T, text string) Class {
	t.Helper()
	id, err := Parse(text)
	require.NoError(t, err)
	return id.Class()
}

func TestNoOwnerIsIssuedTwice(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 1000
	issuer := NewIssuer(client)
	texts := make(chan string, goroutines*each)
	var wg sync.WaitGroup
	for g := range goroutines {
		issue := issuer.Private
		if g%2 == 0 {
			issue = issuer.Exported
		}
		wg.Go(func() {
			for range each {
				texts <- issue()
			}
		})
	}
	wg.Wait()
	close(texts)
	seen := make(map[string]bool, cap(texts))
	for text := range texts {
		assert.False(t, seen[text], text)
		seen[text] = true
	}
	assert.Len(t, seen, goroutines*each)
}

func TestIssuersOfOneClientIDStartApart(t *testing.T) {
	t.Parallel()
	first, second := NewIssuer(client), NewIssuer(client)
	assert.NotEqual(t, first.next.Load(), second.next.Load(), "a restarted process would meet the owners that it left behind")
}

func TestNewClientIsARandomUUID(t *testing.T) {
	t.Parallel()
	id := NewClient()
	require.NoError(t, ParseClient(id))
	assert.Equal(t, uuid.Version(4), uuid.MustParse(id).Version())
	assert.NotEqual(t, id, NewClient())
}

var rejected = map[string]string{
	"nothing":                         "",
	"a colon":                         ":",
	"no colon":                        client,
	"no decimal":                      client + ":",
	"no client":                       ":17",
	"not a decimal":                   client + ":seventeen",
	"hexadecimal":                     client + ":0x11",
	"zero":                            client + ":0",
	"a negative number":               client + ":-17",
	"a sign":                          client + ":+17",
	"leading zeros":                   client + ":017",
	"an underscore":                   client + ":1_7",
	"a fraction":                      client + ":17.0",
	"one more than fits":              client + ":9223372036854775808",
	"a space in front":                " " + client + ":17",
	"a space behind":                  client + ":17 ",
	"a line end":                      client + ":17\n",
	"the write side of a lock":        client + ":17:write",
	"an upper-case uuid":              strings.ToUpper(client) + ":17",
	"a uuid in braces":                "{" + client + "}:17",
	"a uuid without hyphens":          strings.ReplaceAll(client, "-", "") + ":17",
	"a uuid as a URN":                 "urn:uuid:" + client + ":17",
	"a uuid that is too short":        client[1:] + ":17",
	"digits of another script":        client + ":١٧",
	"a uuid with a digit that is not": "g" + client[1:] + ":17",
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for what, text := range rejected {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			id, err := Parse(text)
			assert.ErrorIs(t, err, ErrMalformed)
			assert.Zero(t, id)
		})
	}
}

func TestParseClientRefusesWhatIsNotCanonical(t *testing.T) {
	t.Parallel()
	assert.NoError(t, ParseClient(client))
	for _, text := range []string{"", client + " ", strings.ToUpper(client), "{" + client + "}", "urn:uuid:" + client, "client-1"} {
		assert.ErrorIs(t, ParseClient(text), ErrMalformed, "%q", text)
	}
}

// FuzzParse: whatever is accepted is exactly what String writes of it.
func FuzzParse(f *testing.F) {
	for _, text := range rejected {
		f.Add(text)
	}
	for _, n := range []int64{1, 17, 1<<61 - 1, 1 << 61, 1 << 62, math.MaxInt64} {
		f.Add(client + ":" + strconv.FormatInt(n, 10))
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := Parse(text)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			require.Zero(t, id)
			return
		}
		require.Equal(t, text, id.String())
		require.NoError(t, ParseClient(id.Client))
		require.Positive(t, id.Number)
	})
}

// FuzzID: whatever String writes of a uuid and a positive number is accepted.
func FuzzID(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), int64(1))
	f.Add(make([]byte, 16), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, raw []byte, number int64) {
		id, err := uuid.FromBytes(raw)
		if err != nil || number <= 0 {
			return
		}
		want := ID{Client: id.String(), Number: number}
		got, err := Parse(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
