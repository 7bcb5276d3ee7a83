package redistest

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

var aclRule = regexp.MustCompile("(?s)```\n(ACL SETUSER orders.*?)```")

// UserOfThePage returns the command by which the page, docs/redis.md as it is seen from the test, sets up the user "orders",
// whose password is "password". With additions that the page names for a topology or an option, such as "+wait".
func UserOfThePage(t testing.TB, page string, additions ...string) (command []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rule := aclRule.FindSubmatch(text)
	if rule == nil {
		t.Fatalf("redistest: there is no ACL in %s", page)
	}
	command = strings.Fields(string(rule[1]))
	for _, addition := range additions {
		if !bytes.Contains(text, []byte("`"+addition+"`")) {
			t.Fatalf("redistest: %s does not name `%s`", page, addition)
		}
		command = append(command, strings.Fields(addition)...)
	}
	return command
}

// ConfinedOn sets up the user of the page on each node of a cluster, with what the page adds for one, and is how clients
// become that user. When the test ends, no node must have denied it anything.
func ConfinedOn(t testing.TB, c *Cluster, page string) func(*rueidis.ClientOption) {
	t.Helper()
	rule := UserOfThePage(t, page, "+cluster +asking", "+spublish +ssubscribe")
	for _, node := range c.Nodes() {
		c.command(node, rule...)
		t.Cleanup(func() {
			if denied := c.command(node, "ACL", "LOG").([]any); len(denied) > 0 {
				t.Errorf("redistest: denied under the user of %s on %s: %v", page, node.Addr(), denied)
			}
		})
	}
	return func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" }
}

// PageUser is the user of the page on one server.
type PageUser struct {
	Admin rueidis.Client
	addr  string
}

// UserOn sets up the user of the page on a server, with additions that the page names.
func UserOn(t testing.TB, server *Server, page string, additions ...string) PageUser {
	t.Helper()
	u := PageUser{server.Client(t), server.Addr()}
	Do(t, u.Admin, UserOfThePage(t, page, additions...)...)
	return u
}

// Option returns how a client becomes the user.
func (u PageUser) Option() rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress: []string{u.addr}, Username: "orders", Password: "password", DisableCache: true, ForceSingleClient: true,
	}
}

// Client returns a client of the user, which is closed when the test ends.
func (u PageUser) Client(t testing.TB) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(u.Option())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// NothingDenied fails the test if the server has denied the user anything.
func (u PageUser) NothingDenied(t testing.TB) {
	t.Helper()
	denied, err := u.Admin.Do(context.Background(), u.Admin.B().Arbitrary("ACL", "LOG").Build()).ToArray()
	require.NoError(t, err)
	for _, d := range denied {
		t.Log(d.String())
	}
	require.Empty(t, denied)
}
