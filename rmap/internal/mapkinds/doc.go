// Package mapkinds runs tests on the kinds of maps that are loaded in different ways.
package mapkinds
