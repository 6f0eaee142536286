package manifest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// certificate is a new one, as PEM.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A bundle is good if an API server would take it: its name is its signer's, and it has certificates alone.
func TestBundles(t *testing.T) {
	good := certificate(t)
	bundle := func(version, name, signer, pem string) string {
		return fmt.Sprintf("apiVersion: certificates.k8s.io/%s\nkind: ClusterTrustBundle\nmetadata: {name: %q, labels: "+
			"{a: b}}\nspec:\n  signerName: %q\n  trustBundle: %q\n", version, name, signer, pem)
	}
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		c, err := decode("n", "x.yaml", []byte(bundle(version, "example.com:ca:a", "example.com/ca", "text\n"+good+good)))
		require.NoError(t, err)
		is, ok := c.objects[0].value.(*hal.Content)
		require.True(t, ok)
		require.Equal(t, "ClusterTrustBundle example.com:ca:a", c.objects[0].id.String())
		require.Equal(t, "example.com/ca", is.Signer)
		require.Equal(t, map[string]string{"a": "b"}, is.Labels)
		require.Equal(t, "text\n"+good+good, c.held[byName(c.objects[0].id)][bundleField])
	}
	plain := bundle("v1beta1", "plain", "", good)
	_, err := decode("n", "x.yaml", []byte(plain))
	require.NoError(t, err)
	for want, text := range map[string]string{
		"must begin with \"example.com:ca:\"": bundle("v1beta1", "plain", "example.com/ca", good),
		"has a colon, and no spec.signerName": bundle("v1beta1", "example.com:ca:a", "", good),
		"has no PEM block":                    bundle("v1beta1", "plain", "", "none"),
		"PEM block 2 is no certificate":       bundle("v1beta1", "plain", "", good+strings.ReplaceAll(good, "M", "N")),
		"only CERTIFICATE may be there":       bundle("v1beta1", "plain", "", strings.ReplaceAll(good, "CERTIFICATE", "KEY")),
		"1048577 bytes are more than 1048576": bundle("v1beta1", "plain", "", strings.Repeat("x", 1<<20+1)),
		"metadata.name":                       bundle("v1beta1", "../etc", "", good),
		"is in this file twice":               plain + "---\n" + plain,
		`spec.trustBundel: unknown field`:     strings.Replace(plain, "trustBundle", "trustBundel", 1),
	} {
		_, err := decode("n", "x.yaml", []byte(text))
		require.ErrorContains(t, err, want)
	}
}

func TestABundleIsReadWithItsLabels(t *testing.T) {
	w := newWorld(t)
	text := certificate(t)
	w.put("bundle.yaml", "apiVersion: certificates.k8s.io/v1beta1\nkind: ClusterTrustBundle\n"+
		"metadata: {name: \"example.com:ca:a\", labels: {live: \"yes\"}}\nspec:\n  signerName: example.com/ca\n"+
		fmt.Sprintf("  trustBundle: %q\n", text))
	w.start()
	is, err := w.cloud.TrustBundle(hal.Call{}, "example.com:ca:a")
	require.NoError(t, err)
	require.Equal(t, hal.TrustBundle{PEM: text, Signer: "example.com/ca", Labels: map[string]string{"live": "yes"}}, is)
	_, err = w.cloud.TrustBundle(hal.Call{}, "example.com:ca:b")
	require.True(t, hal.Is(err, syscall.ENOENT), "%v", err)
}

// A trouble of a bundle concerns the pods that name it, and those that choose among the bundles of its signer.
func TestTroubleOfABundleConcernsItsPods(t *testing.T) {
	w := newWorld(t)
	pod := func(name, of string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  containers: [{name: c, image: x}]\n" +
			"  volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {path: ca, " + of + "}}]}}]\n"
	}
	bundle := "apiVersion: certificates.k8s.io/v1beta1\nkind: ClusterTrustBundle\n" +
		"metadata: {name: \"example.com:ca:a\"}\nspec:\n  signerName: example.com/ca\n  trustBundle: "
	w.put("bundle.yaml", bundle+fmt.Sprintf("%q\n", certificate(t)))
	w.put("named.yaml", pod("named", `name: "example.com:ca:a"`))
	w.put("chosen.yaml", pod("chosen", `signerName: example.com/ca, labelSelector: {}`))
	w.put("other.yaml", pod("other", `signerName: other.example/ca, labelSelector: {}`))
	w.start()
	w.put("bundle.yaml", bundle+"none\n")
	w.pass(2 * time.Second)
	c, _ := w.cloud.(*Cluster)
	require.NotEmpty(t, c.Concerning("default/named"))
	require.NotEmpty(t, c.Concerning("default/chosen"))
	require.Empty(t, c.Concerning("default/other"))
}
