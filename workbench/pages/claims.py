"""Claims"""
import streamlit as st
st.title("Claims")
